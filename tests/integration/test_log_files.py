"""What callbacks write to files is the same after interruptions, line for line."""

from __future__ import annotations

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
    files = {name: (tmp_path / name).read_text() for name in ("batches.txt", "rates.jsonl")}
    assert [text.count("\n") for text in files.values()] == [60, 3]
    alone = KerasRun(tmp_path / "alone", "appends_results.py", interpreter=forked)
    alone.folder.mkdir()
    assert alone.attempt().returncode == 0
    assert files == {name: (alone.folder / name).read_text() for name in files}


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
