"""Scripts that end without the training that was interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.events import LevelKnown
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun

_MODEL = """\
import json, os
import keras
import numpy as np

keras.utils.set_random_seed(0)
x = np.linspace(0, 1, 640).reshape(160, 4).astype("float32")

def made():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    return model
"""
_LOADS = """
if os.path.exists("best.keras"):
    model = keras.models.load_model("best.keras")
else:
    model = made()
    best = keras.callbacks.ModelCheckpoint("best.keras", "loss", save_best_only=True)
    model.fit(x, x.sum(1), epochs=4, batch_size=8, verbose=0, callbacks=[best])
"""
_MARKS = """
if not os.path.exists("begun"):
    open("begun", "w").close()
    made().fit(x, x.sum(1), epochs=4, batch_size=8, verbose=0)
"""
_REPEATS = """
class Job:
    def __init__(self, path):
        self.path = path

    def waits(self):
        return not os.path.exists(self.path)

jobs = [Job(f"{number}.json") for number in range(5)]
while waiting := [job for job in jobs if job.waits()]:
    losses = made().fit(x, x.sum(1), epochs=4, batch_size=8, verbose=0).history["loss"]
    with open(waiting[0].path, "w") as file:
        json.dump(losses, file)
"""


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("script", "step", "every", "reason"),
    [
        (_LOADS, "50", "7steps", "after step "),
        (_MARKS, "1", "7steps", "after step "),
        (_REPEATS, "270", "7steps", "0.json"),
    ],
    ids=["loads-what-it-has-left", "had-perhaps-saved-nothing", "gets-the-outcomes-of-others"],
)
def test_a_script_that_ends_without_the_interrupted_training_is_not_exact(
    tmp_path: Path, forked: Interpreter, script: str, step: str, every: str, reason: str
) -> None:
    path = tmp_path / "script.py"
    path.write_text(_MODEL + script)
    run = KerasRun(tmp_path, str(path), (), ("--every", every), interpreter=forked)
    assert run.attempt("--die-at-step", step).returncode != 0
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    known = run.last(LevelKnown)
    assert (known.level, known.has_deviated) == ("not_exact", True)
    assert reason in known.reason
    assert b"No training was detected" not in ended.stderr
