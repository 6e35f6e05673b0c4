"""Wrong scripts, wrong folders and changed inputs: one clear sentence, and nothing lost."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.events import FitEnded, Notice, Restored, TrainerConnected
from pitstop.journal import Journal
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import SCRIPTS, Ended, KerasRun
from tests.integration.supervisor.launch import (
    PITSTOP,
    call,
    environment,
    finish,
    run_script,
    until_line,
)

_SCRIPT = """\
import keras
import numpy as np

BATCH = 32
UNITS = 4
SEED = 3

keras.utils.set_random_seed(7)
x = np.random.default_rng(SEED).normal(size=(640, 8)).astype("float32")
model = keras.Sequential([keras.Input((8,)), keras.layers.Dense(UNITS), keras.layers.Dense(1)])
model.compile(optimizer="sgd", loss="mse")
model.fit(x, x.sum(axis=1, keepdims=True), batch_size=BATCH, epochs=3, verbose=2)
"""
_HALTED_AT_STEP = 26


def _said(ended: Ended) -> list[str]:
    """The lines of Pitstop itself, without their prefix."""
    lines = ended.stderr.decode().splitlines()
    return [line.removeprefix("pitstop: ") for line in lines if line.startswith("pitstop: ")]


def _says(ended: Ended, *words: str) -> bool:
    """Whether one line of Pitstop holds all of these."""
    return any(all(word in line for word in words) for line in _said(ended))


# -- scripts that do not train -----------------------------------------------------


def test_script_that_does_not_exist(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "absent.py")
    ended, found = run.attempt(), run.why()
    assert ended.returncode == 2
    assert ended.stderr.count(b"can't open file") == 1
    assert found["summary"].startswith("Python found no script to run: can't open file")
    assert found["advice"][0].startswith("Fix the path after `--`")


def test_script_that_is_no_python(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "syntax_error.py")
    ended, found = run.attempt(), run.why()
    assert ended.returncode == 1
    assert b"SyntaxError: '(' was never closed" in ended.stderr
    assert _says(ended, "exit code 1", "nothing was saved")
    assert found["summary"].startswith("The script is not valid Python: SyntaxError")
    assert found["advice"][0].startswith(f"Fix {SCRIPTS / 'syntax_error.py'}:3")


def test_script_that_exits_at_once(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "exits_with_3.py")
    ended, found = run.attempt(), run.why()
    assert ended.returncode == 3
    assert _says(ended, "exit code 3", "nothing was saved")
    assert _says(ended, "`pitstop why run` explains why; run it again")
    assert found["summary"].startswith("The script ended itself with exit code 3")
    assert "no configuration file" in [item["text"] for item in found["evidence"]]
    assert "sys.exit" in found["advice"][0]


def test_script_that_trains_in_the_background(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "daemonizes.py", ("trainer.pid",))
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert _says(ended, "moved to the background", "supervised until its last process ends")
    assert (tmp_path / "trainer.pid.done").exists()
    assert run.last(FitEnded).step == 60
    assert run.processes() == []


def test_script_that_does_not_train(tmp_path: Path) -> None:
    run = KerasRun(tmp_path, "no_training.py")
    ended = run.attempt()
    assert ended.returncode == 0
    assert _says(ended, "No training was detected", "custom loops")


# -- run folders that cannot be used -------------------------------------------------


def _refusal(folder: Path, run_dir: str, *prefix: str) -> tuple[int, str]:
    """Exit code and the one line of a run that does not even begin."""
    words = (*prefix, *PITSTOP, "run", "--run-dir", run_dir, "--", "touch", "started")
    ended = subprocess.run(
        words, cwd=folder, env=environment(), capture_output=True, timeout=60, check=False
    )
    assert not (folder / "started").exists()
    [line] = ended.stderr.decode().splitlines()
    return ended.returncode, line


def test_run_folder_that_is_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    assert _refusal(tmp_path, "file") == (
        2,
        "pitstop: file is a file. Give a folder with --run-dir.",
    )
    assert (tmp_path / "file").read_text() == "mine"


def test_run_folder_in_one_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "locked").mkdir(mode=0o555)
    code, line = _refusal(tmp_path, "locked/run", *_without_override())
    assert code == 1
    assert "The run folder locked/run cannot be written: this user has no permission." in line
    assert "Change its owner or mode, or use another disk with --run-dir." in line


def _without_override() -> tuple[str, ...]:
    """Before a command: file modes hold for root, too."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root writes everywhere, and there is no setpriv to give that up")
    return ("setpriv", "--bounding-set", "-dac_override", "--inh-caps", "-dac_override")


def test_run_folder_of_a_newer_format(tmp_path: Path) -> None:
    assert call(tmp_path, "run", "--run-dir", "run", "--", "true").returncode == 0
    identity = tmp_path / "run" / "run.json"
    newer = json.dumps(json.loads(identity.read_text()) | {"version": 99})
    identity.write_text(newer)
    code, line = _refusal(tmp_path, "run")
    assert code == 1
    assert "in version 99; this Pitstop reads version 1." in line
    assert "Upgrade Pitstop to the version that wrote this run." in line
    assert identity.read_text() == newer


def test_run_folder_of_a_live_run(tmp_path: Path) -> None:
    live = run_script(tmp_path, "print('ready', flush=True)\nimport time\ntime.sleep(60)\n")
    until_line(live, b"ready")
    code, line = _refusal(tmp_path, "run")
    assert live.poll() is None
    live.terminate()
    assert finish(live).returncode == 75
    assert code == 2
    assert f"run is in use by a live run (process {live.pid} on " in line
    assert "Stop it with `pitstop stop run`, or use another --run-dir." in line


# -- what changed since the last attempt -----------------------------------------------


@pytest.fixture(scope="module")
def halted(tmp_path_factory: pytest.TempPathFactory, forked: Interpreter) -> Path:
    """A folder with a script and its run, stopped in the second of three epochs."""
    folder = tmp_path_factory.mktemp("halted")
    (folder / "script.py").write_text(_SCRIPT)
    ended = _run_in(folder, forked).attempt("--halt-at-step", str(_HALTED_AT_STEP))
    assert ended.returncode == 75, ended.stderr
    return folder


@pytest.fixture
def run(halted: Path, tmp_path: Path, forked: Interpreter) -> Iterator[KerasRun]:
    """The stopped run, as it was, for every test: a script elsewhere would be another one."""
    shutil.copytree(halted, tmp_path / "kept")
    yield _run_in(halted, forked)
    shutil.rmtree(halted)
    shutil.copytree(tmp_path / "kept", halted)


def _run_in(folder: Path, interpreter: Interpreter) -> KerasRun:
    return KerasRun(folder, str(folder / "script.py"), interpreter=interpreter)


def _edit(run: KerasRun, before: str, now: str) -> None:
    assert _SCRIPT.count(before) == 1
    (run.folder / "script.py").write_text(_SCRIPT.replace(before, now))


def _checkpoints(run: KerasRun) -> list[tuple[Any, ...]]:
    rows = run.verify()
    return [(row["checkpoint"], row["sequence"], row["size_bytes"], row["problem"]) for row in rows]


def _check_refused(run: KerasRun, *words: str) -> None:
    """The attempt ends with a reason and remedies; the checkpoints are what they were."""
    saved = _checkpoints(run)
    ended = run.attempt()
    assert ended.returncode == 2, ended.stderr
    assert _says(ended, *words, "Undo the change, start over with --new, or ", "--force.")
    assert _said(ended)[-1] == (
        f"the run was not resumed; saved at step {_HALTED_AT_STEP} as before (`pitstop why run`)."
    )
    assert _checkpoints(run) == saved
    assert next(row[0] for row in saved) == f"{_HALTED_AT_STEP:08}"
    found = run.why()
    assert found["cause"] == "checkpoint_corrupt_or_mismatch"
    assert all(word in found["summary"] for word in words)
    assert "--force" in found["advice"][0]


def test_changed_batch_size(run: KerasRun) -> None:
    """The saved one holds, and both are named."""
    _edit(run, "BATCH = 32", "BATCH = 16")
    resumed = run.attempt()
    assert resumed.returncode == 0, resumed.stderr
    assert _says(resumed, "Using the saved values", "batch_size 16, was 32")
    restored = run.last(Restored)
    assert (restored.step, restored.step_in_epoch, restored.level) == (26, 6, "exact")
    assert run.last(FitEnded).step == 60


def test_changed_shape_of_the_model(run: KerasRun) -> None:
    _edit(run, "UNITS = 4", "UNITS = 8")
    change = "sequential/dense/kernel float32[8, 4] is now float32[8, 8]"
    _check_refused(run, "The trained model has changed", "layers", "variables", change)
    forced = run.attempt("--force")
    assert forced.returncode == 0, forced.stderr
    assert _says(forced, "3 variables were not restored", "sequential/dense/bias float32[4]")
    assert _says(forced, "resuming at step 26 (epoch 2, step 6): not exact", "The model changed")
    assert run.last(FitEnded).step == 60


def test_changed_script_data_and_tensorflow(run: KerasRun) -> None:
    """None of them keeps the state from loading: said aloud, and the run goes on."""
    _edit(run, "SEED = 3", "SEED = 5")
    _pretend_another_tensorflow(run)
    resumed = run.attempt()
    assert resumed.returncode == 0, resumed.stderr
    assert _says(resumed, "the script has changed since the last attempt", "saved state is used")
    assert _says(resumed, "the training data has changed", "saved state is used")
    assert _says(resumed, "TensorFlow's version has changed", "(2.0.0 -> ", "last bits")
    assert _says(resumed, "resuming at step 26", "not exact: The training data changed: x, y.")
    assert run.last(FitEnded).step == 60


def _pretend_another_tensorflow(run: KerasRun) -> None:
    """The journal says that the attempt before had another version."""
    before = run.last(TrainerConnected)
    versions = before.versions | {"tensorflow": "2.0.0"}
    with Journal(run.folder / "run" / "journal.jsonl", attempt=1) as journal:
        journal.append(TrainerConnected(before.pid, before.python, before.argv, versions))


def test_memory_that_is_too_small_for_snapshots(tmp_path: Path, forked: Interpreter) -> None:
    (tmp_path / "script.py").write_text(_SCRIPT.replace("UNITS = 4", "UNITS = 100_000"))
    run = _run_in(tmp_path, forked)
    stopped = run.attempt("--snapshot-memory", "1MB", "--halt-at-step", "3")
    assert stopped.returncode == 75, stopped.stderr
    assert _says(stopped, "use a file in the run folder instead", "--snapshot-memory.")
    assert [notice.code for notice in run.events(Notice)] == ["snapshot_memory_short"]
    assert {row["problem"] for row in run.verify()} == {""}
    resumed = run.attempt("--halt-at-step", "4")
    assert resumed.returncode == 75, resumed.stderr
    assert (run.last(Restored).step, run.last(Restored).level) == (3, "exact")
