"""What callbacks write to files is the same after interruptions, line for line."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.core.util import event_pb2

from pitstop.events import LevelKnown
from tests.integration.chain import Chain, interrupt_everywhere
from tests.integration.conftest import Baseline, Interpreter
from tests.integration.keras_run import KerasRun

ARGUMENTS = ("--input", "numpy", "--validation", "--logs")

Scalar = tuple[str, int, float]


def scalars(folder: Path) -> list[Scalar]:
    """Tag, step and value of everything that TensorBoard would show, in order."""
    found: list[Scalar] = []
    for path in sorted(folder.glob("*.tfevents.*")):
        for record in tf.data.TFRecordDataset(str(path)):
            event = event_pb2.Event.FromString(record.numpy())
            found += [
                (value.tag, event.step, float(tf.make_ndarray(value.tensor)))
                for value in event.summary.value
                if value.metadata.plugin_data.plugin_name in ("", "scalars")
            ]
    return found


@pytest.mark.timeout(240)
def test_logs_hold_every_step_once(tmp_path: Path, baseline: Baseline, forked: Interpreter) -> None:
    # With snapshots far apart, so that steps are done again.
    chain = Chain(ARGUMENTS, "kill@batch:13 stop@batch:24 kill@test:9", ("--every", "9steps"))
    alone = baseline(ARGUMENTS).parent
    interrupt_everywhere(chain, tmp_path, alone / "out.npz", forked)
    for name in ("epochs.csv", "batches.jsonl", "rows.csv", "lines.txt"):
        assert (tmp_path / name).read_text() == (alone / name).read_text()
    for kind in ("train", "validation"):
        expected = scalars(alone / "events" / kind)
        assert len(expected) >= 3
        assert scalars(tmp_path / "events" / kind) == expected
    assert list((tmp_path / "events").rglob("*.interrupted.*"))


def test_lines_that_are_appended_again_are_there_once(tmp_path: Path, forked: Interpreter) -> None:
    options = ("--every", "15steps")
    run = KerasRun(tmp_path, "appends_results.py", options=options, interpreter=forked)
    # Each training has 20 steps; the second kill falls behind what the first attempt had reached.
    for step in (28, 47):
        run.attempt("--die-at-step", str(step))
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level == "exact"
    names = ("batches.txt", "steps.csv", "rates.jsonl", "0.01.txt", "0.02.txt", "0.04.txt")
    files = {name: (tmp_path / name).read_text() for name in names}
    assert [text.count("\n") for text in files.values()] == [60, 61, 3, 3, 3, 3]
    alone = KerasRun(tmp_path / "alone", "appends_results.py", interpreter=forked)
    alone.folder.mkdir()
    assert alone.attempt().returncode == 0
    assert files == {name: (alone.folder / name).read_text() for name in files}
    for name in ("all.log", "latest.log"):
        logs = [folder.joinpath(name).read_text() for folder in (tmp_path, alone.folder)]
        messages = [[line.split(" ", 2)[2] for line in log.splitlines()] for log in logs]
        assert messages[0] == messages[1]
        assert len(messages[0]) == 61


_SUMMARIES = """
import keras
import numpy as np
import tensorflow as tf

KIND = {kind!r}
keras.utils.set_random_seed(0)
x = np.linspace(0, 1, 640).reshape(160, 4).astype("float32")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile(keras.optimizers.SGD(0.1), "mse")
writer = tf.summary.create_file_writer("events/own")

class Write(keras.callbacks.Callback):
    def on_train_batch_end(self, batch, logs=None):
        with writer.as_default():
            tf.summary.scalar("loss", logs["loss"], self.model.optimizer.iterations)

@tf.function
def step(rows):
    with tf.GradientTape() as tape:
        loss = tf.reduce_mean((model(rows) - 1) ** 2)
    gradients = tape.gradient(loss, model.trainable_variables)
    model.optimizer.apply_gradients(zip(gradients, model.trainable_variables))
    return loss

if KIND == "fit":
    model.fit(x, x.sum(axis=1), epochs=4, batch_size=16, verbose=0, callbacks=[Write()])
else:
    for number in range(40):
        loss = step(x[4 * number : 4 * number + 4])
        with writer.as_default():
            tf.summary.scalar("loss", loss, number + 1)
"""


@pytest.mark.parametrize("kind", ["fit", "loop"])
def test_summaries_of_the_script_hold_every_step_once(
    tmp_path: Path, forked: Interpreter, kind: str
) -> None:
    script = tmp_path / "summaries.py"
    script.write_text(_SUMMARIES.format(kind=kind))
    run = KerasRun(tmp_path, str(script), options=("--every", "9steps"), interpreter=forked)
    for step in (13, 25):
        run.attempt("--die-at-step", str(step))
    assert run.attempt().returncode == 0
    assert run.last(LevelKnown).level.startswith("exact")
    assert [step for _, step, _ in scalars(tmp_path / "events" / "own")] == [*range(1, 41)]


_REWRITES = """
import contextlib, json, os, sqlite3, time
import keras
import numpy as np

KIND = {kind!r}
keras.utils.set_random_seed(0)
x = np.linspace(0, 1, 640).reshape(160, 4).astype("float32")

class Log(keras.callbacks.Callback):
    def on_train_begin(self, logs=None):
        if KIND == "emptied-as-fit-begins":
            self.write("log.json", [])

    def on_train_batch_end(self, batch, logs=None):
        time.sleep(0.01)  # so that a state is saved before each kill

    def on_epoch_end(self, epoch, logs=None):
        if KIND == "database":
            with contextlib.closing(sqlite3.connect("log.db")) as database, database:
                database.execute("create table if not exists log (epoch integer unique)")
                database.execute("insert into log values (?)", [epoch])
                rows = database.execute("select * from log").fetchall()
            self.write("log.json", [[number, 0.0] for number, in rows])
            return
        told = json.load(open("log.json")) if os.path.exists("log.json") else []
        self.write("log.json", [*told, [epoch, logs["loss"]]])

    def write(self, path, value):
        if KIND == "by-a-library":
            np.savetxt(path, [json.dumps(value)], fmt="%s")
            return
        written = "log.tmp" if KIND == "replaced" else path
        with open(written, "w") as file:
            json.dump(value, file)
        if KIND == "replaced":
            os.replace(written, path)

if KIND == "emptied":
    Log().write("log.json", [])
elif KIND == "removed" and os.path.exists("log.json"):
    os.remove("log.json")
model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(1)])
model.compile("sgd", "mse")
model.fit(x, x.sum(1), epochs=6, batch_size=8, verbose=0, callbacks=[Log()])
"""


@pytest.mark.timeout(240)
@pytest.mark.parametrize(
    "kind",
    [
        *("written", "replaced", "by-a-library", "database"),
        *("emptied", "emptied-as-fit-begins", "removed"),
    ],
)
def test_a_file_that_each_epoch_writes_anew_has_each_epoch_once(
    tmp_path: Path, forked: Interpreter, kind: str
) -> None:
    (tmp_path / "script.py").write_text(_REWRITES.format(kind=kind))
    options = ("--every", "15steps")
    run = KerasRun(tmp_path, str(tmp_path / "script.py"), (), options, interpreter=forked)
    for step in (65, 105):
        run.attempt("--die-at-step", str(step))
    assert run.attempt().returncode == 0
    assert [epoch for epoch, _ in json.loads((tmp_path / "log.json").read_text())] == [*range(6)]
    assert {event.level for event in run.events(LevelKnown)} == {"exact"}


def test_lines_are_there_once_where_the_run_begins_again(
    tmp_path: Path, forked: Interpreter
) -> None:
    run = KerasRun(tmp_path, "appends_results.py", interpreter=forked)
    run.attempt("--die-at-step", "28")
    text = (tmp_path / "batches.txt").read_text()
    for saved in (tmp_path / "run" / "checkpoints").iterdir():
        shutil.rmtree(saved)
    assert run.attempt().returncode == 0
    assert (tmp_path / "batches.txt").read_text().startswith(text)
    assert (tmp_path / "batches.txt").read_text().count(os.linesep) == 60
    assert (tmp_path / "rates.jsonl").read_text().count("\n") == 3


def test_outputs_that_a_script_removes_first_are_there_at_its_end(
    tmp_path: Path, forked: Interpreter
) -> None:
    def printed(run: KerasRun, *options: str) -> list[bytes]:
        lines = run.attempt(*options).stdout.splitlines()
        return [line for line in lines if line.startswith((b"BEST", b"LOSS"))]

    run = KerasRun(tmp_path, "removes_outputs.py", interpreter=forked)
    assert not printed(run, "--every=1steps", "--die-at-step=45")
    found = printed(run)
    assert run.last(LevelKnown).level == "exact"
    lines = (tmp_path / "out" / "log.csv").read_text().splitlines()
    assert len(lines) == 13
    assert found[:1] == [b"BEST 3"]
    assert printed(run, "--new") == found
