"""`--on-oom shrink`: a step that does not fit into the memory is computed in parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pitstop.events import (
    BatchDivided,
    BuffersReduced,
    DivisionRefused,
    LevelKnown,
    PrecisionReduced,
    Restored,
    TrainerExited,
)
from tests.integration.compare import assert_identical
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.machine import limited_memory
from tests.integration.supervisor import launch

EXAMPLE = Path(__file__).parents[2] / "examples" / "recover_memory.py"
# The whole batch takes 1.5 GiB; TensorFlow alone 0.5.
_LIMIT_BYTES = 1000 << 20

pytestmark = pytest.mark.timeout(300)


def _with_little_memory(run: KerasRun) -> subprocess.CompletedProcess[bytes]:
    with limited_memory(_LIMIT_BYTES) as group:
        words = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "limited"]
        return subprocess.run(
            [*words, *launch.PITSTOP, *run.words()],
            cwd=run.folder,
            env=launch.environment(**run.variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=280,
            check=False,
        )


def test_a_batch_that_does_not_fit_finishes_with_the_losses_of_the_whole(
    tmp_path: Path, forked: Interpreter
) -> None:
    whole, parted = tmp_path / "whole", tmp_path / "parted"
    for folder in (whole, parted):
        folder.mkdir()
    launch.run_alone(whole, *forked, EXAMPLE)
    run = KerasRun(parted, str(EXAMPLE), (), ("--on-oom", "shrink"))
    ended = _with_little_memory(run)
    assert ended.returncode == 0, ended.stderr.decode()
    divided = run.events(BatchDivided)
    assert [each.parts for each in divided] == [2**n for n in range(1, len(divided) + 1)]
    assert {each.cause for each in divided} == {"host_oom_killed"}
    assert run.events(TrainerExited)[0].signal == "SIGKILL"
    assert run.last(LevelKnown).level == "not_exact"
    assert "equal up to rounding" in run.last(LevelKnown).reason
    assert f"in {divided[-1].parts} parts" in ended.stderr.decode()
    with np.load(whole / "memory.npz") as expected, np.load(parted / "memory.npz") as found:
        for name in expected.files:
            np.testing.assert_allclose(found[name], expected[name], rtol=1e-3, atol=1e-5)


@pytest.mark.torture
@pytest.mark.parametrize("choice", ["parts", "stop"])
def test_a_batch_normalization_is_computed_in_parts_or_not_as_the_user_says(
    choice: str, tmp_path: Path
) -> None:
    script, dense = tmp_path / "normalized.py", "hidden = keras.layers.Dense(WIDTH)(inputs)\n"
    source = EXAMPLE.read_text()
    assert dense in source
    norm = "    inputs_norm = keras.layers.BatchNormalization()(inputs)\n    "
    script.write_text(source.replace(f"    {dense}", norm + dense.replace("inputs", "inputs_norm")))
    run = KerasRun(tmp_path, str(script), (), ("--on-oom", "shrink", "--batch-norm", choice))
    ended = _with_little_memory(run)
    divided, refused = run.events(BatchDivided), run.events(DivisionRefused)
    if choice == "parts":
        assert ended.returncode == 0, ended.stderr.decode()
        assert divided
        assert not refused
        assert "uses the statistics of each part" in run.last(LevelKnown).reason
    else:
        assert ended.returncode == 137
        assert [each.parts for each in divided] == [2]
        assert refused[-1].reason == "its batches cannot be computed in parts"
        assert b"it has BatchNormalization" in ended.stderr


def test_a_smaller_dtype_is_tried_once_where_it_is_allowed(tmp_path: Path) -> None:
    options = ("--on-oom", "precision", "--every", "1steps")
    run = KerasRun(tmp_path, "fails_in_float32.py", ("out.npz",), options)
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr.decode()
    (lowered,) = run.events(PrecisionReduced)
    assert (lowered.step, lowered.policy) == (4, "mixed_bfloat16")
    # The newest snapshot may not have been complete when the step failed.
    assert 0 < run.last(Restored).step <= 3
    level = run.last(LevelKnown)
    assert (level.level, "--on-oom precision" in level.reason) == ("not_exact", True)
    with np.load(tmp_path / "out.npz") as found:
        assert int(found["updates"]) == 8


@pytest.mark.parametrize(
    ("kind", "buffer"),
    [
        pytest.param("prefetch", "prefetch(buffer_size=80)", marks=pytest.mark.torture),
        ("cache", "cache()"),
        pytest.param("workers", "workers=2, max_queue_size=80", marks=pytest.mark.torture),
    ],
)
def test_an_input_that_holds_too_much_finishes_with_the_same_bits(
    kind: str, buffer: str, tmp_path: Path, forked: Interpreter
) -> None:
    expected = tmp_path / "expected.npz"
    launch.run_alone(tmp_path, *forked, SCRIPTS / "large_input.py", expected, kind)
    run = KerasRun(tmp_path, "large_input.py", ("out.npz", kind), ("--on-oom", "shrink"))
    ended = _with_little_memory(run)
    assert ended.returncode == 0, ended.stderr.decode()
    (reduced,) = run.events(BuffersReduced)
    assert (reduced.cause, reduced.buffers) == ("host_oom_killed", [buffer])
    assert run.events(TrainerExited)[0].signal == "SIGKILL"
    # What is read ahead fills the memory before the first step.
    assert kind != "cache" or run.last(Restored).step > 0
    assert run.last(LevelKnown).level == "exact_by_replay"
    assert (
        f"repeating it with smaller input buffers, in the same order: {buffer}"
        in ended.stderr.decode()
    )
    assert_identical(expected, tmp_path / "out.npz")


def test_memory_that_is_used_up_before_a_step_is_not_the_batchs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise MemoryError('Unable to allocate 55.2 GiB for an array')\n")
    words = ("run", "--run-dir", "run", "--on-oom", "shrink", "--", sys.executable, str(script))
    ended = launch.call(tmp_path, *words)
    run = KerasRun(tmp_path, str(script))
    assert ended.returncode == 1
    assert run.events(BatchDivided) == []
    assert "outside a training step" in run.last(DivisionRefused).reason


def test_a_loop_that_can_computes_its_steps_in_parts(tmp_path: Path) -> None:
    found = {}
    for kind in ("fits", "fails"):
        (tmp_path / kind).mkdir()
        options = ("--on-oom", "shrink", "--every", "1steps")
        run = KerasRun(tmp_path / kind, "loop_in_parts.py", ("out.npz", kind), options)
        ended = run.attempt()
        assert ended.returncode == 0, ended.stderr.decode()
        with np.load(tmp_path / kind / "out.npz") as values:
            found[kind] = dict(values)
    assert [each.parts for each in run.events(BatchDivided)] == [2, 4]
    level = run.last(LevelKnown)
    assert (level.level, "in 4 parts by the script" in level.reason) == ("not_exact", True)
    assert found["fails"]["updates"] == found["fits"]["updates"] == 6
    np.testing.assert_allclose(found["fails"]["weights"], found["fits"]["weights"], rtol=1e-5)
