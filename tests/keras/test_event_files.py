"""Event files are cut where they were, and set aside when they are newer."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import keras
import pytest
import tensorflow as tf

from pitstop.keras import event_files
from pitstop.keras.event_files import EventFiles, FileCut


@pytest.fixture
def board(tmp_path: Path) -> Any:
    """A TensorBoard callback in the middle of a training."""
    callback = keras.callbacks.TensorBoard(str(tmp_path), write_graph=False)
    callback.set_model(keras.Sequential([keras.layers.Dense(1)]))
    return callback


def write(callback: Any, step: int) -> None:
    with callback._train_writer.as_default():
        tf.summary.scalar("loss", 0.5, step)


def test_the_size_at_the_cut_counts_what_is_still_in_a_buffer(board: Any) -> None:
    write(board, 0)
    first = EventFiles().capture([board])
    write(board, 1)
    second = EventFiles().capture([board])
    [(path, before)], [(again, after)] = first["sizes"].items(), second["sizes"].items()
    assert path == again
    assert 0 < before < after == Path(path).stat().st_size


def test_files_of_others_are_none_of_ours(board: Any, tmp_path: Path) -> None:
    write(board, 0)
    (tmp_path / "train" / "events.out.tfevents.1700000000.host.1.0.v2").write_bytes(b"x")
    assert len(event_files.present(EventFiles().capture([board]))) == 2
    assert len(EventFiles().capture([board])["sizes"]) == 1


def test_files_of_earlier_attempts_stay_ours(tmp_path: Path) -> None:
    earlier = tmp_path / "events.out.tfevents.1700000000.host.1.0.v2"
    earlier.write_bytes(b"12345")
    files = EventFiles()
    files.adopt({**event_files.NONE, "sizes": {str(earlier): 3}})
    assert files.capture([])["sizes"] == {str(earlier): 5}


def test_other_callbacks_write_no_event_files() -> None:
    saved = EventFiles().capture([keras.callbacks.Callback()])
    assert (saved["folders"], saved["sizes"]) == ([], {})


def test_a_resume_cuts_the_files_and_sets_newer_ones_aside() -> None:
    def named(seconds: int) -> Path:
        return Path(f"/logs/events.out.tfevents.{seconds}.host.{os.getpid()}.0.v2")

    saved = {"folders": ["/logs"], "time_seconds": 1000.7, "sizes": {str(named(990)): 40}}
    there = [named(900), named(990), named(1000), named(1010)]
    assert event_files.plan(there, saved) == [
        FileCut(named(990), 40),
        FileCut(named(1000), None),
        FileCut(named(1010), None),
    ]


def test_cutting_never_makes_a_file_longer(tmp_path: Path) -> None:
    long, short = tmp_path / "a.tfevents.1.x", tmp_path / "b.tfevents.1.x"
    new, gone = tmp_path / "c.tfevents.2.x", tmp_path / "d.tfevents.2.x"
    long.write_bytes(b"123456")
    short.write_bytes(b"12")
    new.write_bytes(b"123")
    event_files.apply([FileCut(long, 4), FileCut(short, 4), FileCut(new, None), FileCut(gone, 4)])
    assert (long.read_bytes(), short.read_bytes()) == (b"1234", b"12")
    assert (tmp_path / "c.interrupted.2.x").read_bytes() == b"123"
    assert not new.exists()
    assert not gone.exists()
