"""`--on-oom shrink`: a step that does not fit into the memory is computed in parts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from pitstop.events import BatchDivided, DivisionRefused, LevelKnown, TrainerExited
from tests.integration.keras_run import SCRIPTS, KerasRun
from tests.integration.machine import limited_memory
from tests.integration.supervisor import launch

BATCH_SIZE = "4096"
# The whole batch takes 1.5 GiB; TensorFlow alone 0.5.
_LIMIT_BYTES = 1000 << 20

pytestmark = pytest.mark.timeout(300)


def test_a_batch_that_does_not_fit_finishes_with_the_losses_of_the_whole(tmp_path: Path) -> None:
    expected = tmp_path / "expected.npz"
    launch.run_alone(tmp_path, sys.executable, SCRIPTS / "large_batch.py", expected, BATCH_SIZE)
    run = KerasRun(tmp_path, "large_batch.py", ("out.npz", BATCH_SIZE), ("--on-oom", "shrink"))
    with limited_memory(_LIMIT_BYTES) as group:
        words = ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "limited"]
        ended = subprocess.run(
            [*words, *launch.PITSTOP, *run.words()],
            cwd=tmp_path,
            env=launch.environment(**run.variables),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=280,
            check=False,
        )
    assert ended.returncode == 0, ended.stderr.decode()
    divided = run.events(BatchDivided)
    assert [each.parts for each in divided] == [2**n for n in range(1, len(divided) + 1)]
    assert {each.cause for each in divided} == {"host_oom_killed"}
    assert run.events(TrainerExited)[0].signal == "SIGKILL"
    assert run.last(LevelKnown).level == "not_exact"
    assert "equal up to rounding" in run.last(LevelKnown).reason
    assert f"in {divided[-1].parts} parts" in ended.stderr.decode()
    with np.load(expected) as whole, np.load(tmp_path / "out.npz") as parts:
        for name in whole.files:
            np.testing.assert_allclose(parts[name], whole[name], rtol=1e-3, atol=1e-5)


def test_memory_that_is_used_up_before_a_step_is_not_the_batchs(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("raise MemoryError('Unable to allocate 55.2 GiB for an array')\n")
    words = ("run", "--run-dir", "run", "--on-oom", "shrink", "--", sys.executable, str(script))
    ended = launch.call(tmp_path, *words)
    run = KerasRun(tmp_path, "large_batch.py")
    assert ended.returncode == 1
    assert run.events(BatchDivided) == []
    assert "outside of a training step" in run.last(DivisionRefused).reason
