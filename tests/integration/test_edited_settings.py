"""A saved setting holds against a script, or a file that it reads, which was edited."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pitstop.events import FitRestored, LevelKnown, Restored
from tests.integration.conftest import Interpreter
from tests.integration.keras_run import KerasRun
from tests.integration.supervisor.launch import run_alone

_SCRIPT = """\
import json
import sys
import keras
import numpy as np

settings = {settings}
keras.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(96, 6)).astype("float32")
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dropout(0.3), keras.layers.Dense(1)])
model.compile(keras.optimizers.Adam(0.01, beta_1=settings["beta_1"]), "mse")
model.fit(x, x.sum(1), epochs=4, batch_size=settings["batch_size"], verbose=0)
with open(sys.argv[1], "w") as file:
    print(*(each.tobytes().hex() for each in model.get_weights()), file=file)
"""
_OLD, _NEW = {"beta_1": 0.9, "batch_size": 16}, {"beta_1": 0.5, "batch_size": 8}


def _write(folder: Path, where: str, settings: dict[str, float]) -> None:
    is_file = where == "file"
    text = 'json.load(open("settings.json"))' if is_file else repr(settings)
    script = folder / "script.py"
    if not (is_file and script.exists()):
        script.write_text(_SCRIPT.format(settings=text))
    (folder / "settings.json").write_text(json.dumps(settings))


@pytest.mark.timeout(300)
@pytest.mark.parametrize(("where", "level"), [("script", "exact"), ("file", "not_exact")])
def test_it_holds_in_all_attempts_after_the_edit(
    where: str, level: str, tmp_path: Path, forked: Interpreter
) -> None:
    _write(tmp_path, where, _OLD)
    run_alone(tmp_path, *forked, tmp_path / "script.py", "plain")
    run = KerasRun(tmp_path, str(tmp_path / "script.py"), ("out",), interpreter=forked)
    assert run.attempt("--halt-at-step", "8").returncode == 75
    _write(tmp_path, where, _NEW)
    edited = run.attempt("--halt-at-step", "15")
    assert edited.returncode == 75, edited.stderr
    for text in (b"beta_1 0.5, was 0.9", b"batch_size 8, was 16", b"--take batch_size"):
        assert text in edited.stderr
    assert (b"settings.json has changed" in edited.stderr) is (where == "file")
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"batch_size 8, was 16" in ended.stderr
    assert run.last(Restored).step == 15
    assert run.last(LevelKnown).level == level
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()


@pytest.mark.timeout(300)
def test_a_callback_that_is_added_begins_with_the_next_step(
    tmp_path: Path, forked: Interpreter
) -> None:
    _write(tmp_path, "script", _OLD)
    run_alone(tmp_path, *forked, tmp_path / "script.py", "plain")
    run = KerasRun(tmp_path, str(tmp_path / "script.py"), ("out",), interpreter=forked)
    assert run.attempt("--halt-at-step", "8").returncode == 75
    logs = 'callbacks=[keras.callbacks.CSVLogger("log.csv")], verbose=0)'
    text = (tmp_path / "script.py").read_text()
    (tmp_path / "script.py").write_text(text.replace("verbose=0)", logs))
    ended = run.attempt()
    assert ended.returncode == 0, ended.stderr
    assert b"callbacks CSVLogger" in ended.stderr
    assert (tmp_path / "log.csv").read_text().count("\n") == 1 + 3
    assert (tmp_path / "out").read_bytes() == (tmp_path / "plain").read_bytes()


_TWO_FITS = """\
import os
import signal
import sys
import time
from pathlib import Path
import keras
import numpy as np
import tensorflow as tf


class Pace(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        time.sleep(float(os.environ.get("PACE", "0")))


class Killed(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        if len(sys.argv) > 2 and not Path("killed").exists():
            Path("killed").touch()
            os.kill(os.getpid(), signal.SIGKILL)


keras.utils.set_random_seed(3)
x = np.random.default_rng(0).normal(size=(96, 6)).astype("float32")
data = tf.data.Dataset.from_tensor_slices((x, x.sum(1))).shuffle(96, seed=1).batch(16)
model = keras.Sequential([keras.layers.Dense(8), keras.layers.Dense(1)])
model.compile("adam", "mse")
model.fit(data, epochs=3, verbose=0, callbacks=[Pace()])
model.fit(data, epochs=2, verbose=0, callbacks=[Killed()])
with open(sys.argv[1], "w") as file:
    print(*(each.tobytes().hex() for each in model.get_weights()), file=file)
"""


@pytest.mark.timeout(300)
def test_a_variable_that_only_an_ended_fit_reads_does_not_change_what_later_ones_read(
    tmp_path: Path, forked: Interpreter
) -> None:
    script = tmp_path / "script.py"
    script.write_text(_TWO_FITS)
    run_alone(tmp_path, *forked, script, "plain")
    words, paces = ("out", "killed"), ({"PACE": "0.01"}, {"PACE": "0"})
    first, second = (
        KerasRun(tmp_path, str(script), words, interpreter=forked, environment=each)
        for each in paces
    )
    assert first.attempt().returncode == 137
    assert second.attempt().returncode == 0
    assert [each.fit for each in second.events(FitRestored)] == [0]
    assert (tmp_path / "out").read_text() == (tmp_path / "plain").read_text()
