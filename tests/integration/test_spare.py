"""A spare process, which has the libraries imported, takes the place of a trainer that died."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from pitstop.engine.library_imports import IMPORTS_FILE
from pitstop.events import AttemptStarted, LevelKnown, Restored, SpareReady
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor.launch import finish, until

_SCRIPT = """\
import os
import random
import sys
import time

# prepares
import numpy as np
import keras
import tensorflow as tf

print("arguments", sys.argv[1:], __name__, os.path.basename(__file__), os.environ.get("KIND"))
print("first draws", random.random(), np.random.rand(), np.random.default_rng().random())
keras.utils.set_random_seed(int(sys.argv[1]))
x = np.random.normal(size=(160, 6)).astype("float32")
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
model.compile("adam", "mse")


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.3 if os.path.exists("slow") else 0.0)


epochs = int(sys.argv[2])
history = model.fit(x, x.sum(1), epochs=epochs, batch_size=16, verbose=0, callbacks=[Pace()])
print("losses", history.history["loss"])
print("ends", random.random(), np.random.rand(), tf.random.uniform([]).numpy(), flush=True)
"""
_EPOCHS = "12"
_LINES = 4
_ENTROPY = {"PITSTOP_ENTROPY": "5eed", "KIND": "sample"}
"""Two runs that begin with one entropy draw the same, unseeded."""


def _run(folder: Path, *options: str, prepares: str = "", epochs: str = _EPOCHS) -> KerasRun:
    folder.mkdir(exist_ok=True)
    script = folder / "script.py"
    script.write_text(_SCRIPT.replace("# prepares", prepares))
    words = ("--restarts", "3", *options)
    return KerasRun(folder, str(script), ("3", epochs), words, _ENTROPY)


def _spare_pids(run: KerasRun, trainer_pid: int) -> list[int]:
    found = [each for each in run.processes() if each.cmdline()[1:2] == [run.script]]
    return [each.pid for each in found if each.pid != trainer_pid]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("is_ready", [True, False], ids=["ready", "not ready"])
def test_it_trains_on_to_the_same_bits(tmp_path: Path, is_ready: bool) -> None:
    whole = _run(tmp_path / "whole").attempt()
    assert whole.returncode == 0, whole.stderr
    run = _run(tmp_path / "parts", *(["--spare"] if is_ready else []))
    slow = tmp_path / "parts" / "slow"
    slow.touch()
    started = run.start()
    if is_ready:
        until(lambda: run.events(SpareReady, 1))
    run.until_training(20)
    trainer_pid = run.status()["pid"]
    [spare_pid] = until(lambda: _spare_pids(run, trainer_pid))
    os.kill(trainer_pid, signal.SIGKILL)
    until(lambda: run.events(Restored, 2))
    second = run.last(AttemptStarted, 2)
    assert (second.prepared, second.trainer_pid) == (True, spare_pid)
    slow.unlink()
    ended = finish(started)
    assert ended.returncode == 0, ended.stderr
    assert run.processes() == []
    assert (run.last(Restored).level, run.last(LevelKnown).level) == ("exact", "exact")
    assert run.last(Restored).step > 0
    assert ended.stdout.splitlines()[-_LINES:] == whole.stdout.splitlines()[-_LINES:]


@pytest.mark.parametrize(
    ("options", "prepares"),
    [((), "os.environ['OMP_NUM_THREADS'] = '1'"), (("--no-spare",), "")],
    ids=["what the script sets is read by the import", "not wanted"],
)
def test_there_is_none(tmp_path: Path, options: tuple[str, ...], prepares: str) -> None:
    run = _run(tmp_path, *options, prepares=prepares, epochs="2")
    assert run.attempt().returncode == 0
    assert list((tmp_path / "run" / "attempts" / "1").glob(IMPORTS_FILE)) == []
    assert run.events(SpareReady) == []
