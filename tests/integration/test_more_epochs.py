"""More epochs of a training that had ended."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.events import Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor.launch import run_alone

_SCRIPT = """\
import sys
import keras
import numpy as np

epochs, out = int(sys.argv[1]), sys.argv[2]
if not epochs:
    epochs = int(open("epochs.txt").read())
keras.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(96, 6)).astype("float32")
layers = [keras.layers.Dense(8), keras.layers.Dropout(0.3), keras.layers.Dense(1)]
model = keras.Sequential(layers)
model.compile(keras.optimizers.Adam(0.01, use_ema=True, ema_overwrite_frequency=None), "mse")
early = keras.callbacks.EarlyStopping("loss", patience=9, restore_best_weights=True)
log = keras.callbacks.CSVLogger(out + ".csv")
options = {"batch_size": 16, "validation_split": 0.2, "verbose": 0, "callbacks": [log, early]}
history = model.fit(x, x.sum(1), epochs=epochs, **options)
values = [*model.get_weights(), *(each.numpy() for each in model.optimizer.variables)]
with open(out, "w") as file:
    print(history.epoch, history.history, *(each.tobytes().hex() for each in values), file=file)
    print(open(out + ".csv").read(), file=file)
"""
_STEPS_OF_AN_EPOCH = 5


@pytest.mark.timeout(300)
def test_more_epochs_go_on_behind_the_last_to_the_same_bits(
    tmp_path: Path, forked: Interpreter
) -> None:
    """Best weights and averages are put in place behind 2 epochs; the next 2 are killed once."""
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT)
    run_alone(tmp_path, *forked, script, "4", "plain")
    run = KerasRun(tmp_path, str(script), ("2", "out"), interpreter=forked)
    assert run.attempt().returncode == 0
    longer = replace(run, arguments=("4", "out"))
    died = longer.attempt("--take", "epochs", "--every", "2steps", "--die-at-step", "17")
    assert died.returncode != 0
    assert run.last(Restored).step == 2 * _STEPS_OF_AN_EPOCH
    ended = longer.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(Restored).step > 2 * _STEPS_OF_AN_EPOCH
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()


@pytest.mark.timeout(300)
def test_more_epochs_in_a_file_that_the_script_reads_go_on_too(
    tmp_path: Path, forked: Interpreter
) -> None:
    script, epochs = tmp_path / "script.py", tmp_path / "epochs.txt"
    script.write_text(_SCRIPT)
    run_alone(tmp_path, *forked, script, "4", "plain")
    run = KerasRun(tmp_path, str(script), ("0", "out"), interpreter=forked)
    epochs.write_text("2")
    assert run.attempt().returncode == 0
    assert b"is complete" in run.attempt().stderr
    epochs.write_text("4")
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert run.last(Restored).step == 2 * _STEPS_OF_AN_EPOCH
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()
