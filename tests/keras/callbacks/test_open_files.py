"""Logs that callbacks hold open go on where they were at the cut."""

from __future__ import annotations

import csv
import json
import logging
import os
from pathlib import Path
from typing import IO, Any

import keras
import pytest
import tensorflow as tf

from pitstop.engine.files.earlier_files import EarlierFiles
from pitstop.keras.callbacks import open_files


class Logging(keras.callbacks.Callback):
    """Opens its log when training begins, as many callbacks do."""

    def __init__(self, path: Path, mode: str = "w") -> None:
        super().__init__()
        self.path = path
        self.mode = mode
        self.log: IO[str] | None = None

    def on_train_begin(self, logs: Any = None) -> None:
        self.log = self.path.open(self.mode)

    def write(self, text: str) -> None:
        assert self.log is not None
        self.log.write(text)

    def close(self) -> None:
        assert self.log is not None
        self.log.close()


def begun(path: Path, mode: str = "w") -> Logging:
    callback = Logging(path, mode)
    callback.on_train_begin()
    return callback


def captured(*callbacks: Any) -> list[dict[str, Any]]:
    described: list[dict[str, Any]] = json.loads(
        json.dumps(open_files.capture(list(callbacks), []))
    )
    return described


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_log_goes_on_where_it_was_at_the_cut(tmp_path: Path, mode: str) -> None:
    path = tmp_path / "log"
    stopped = begun(path)
    stopped.write("before\n")
    described = captured(stopped)
    stopped.write("after the cut, done again by the resumed run\n")
    stopped.close()
    kept = open_files.keep(described)
    resumed = begun(path, mode)
    open_files.put_back([resumed], [], kept)
    resumed.write("again\n")
    resumed.close()
    assert path.read_text() == "before\nagain\n"


def test_what_is_still_in_a_buffer_counts(tmp_path: Path) -> None:
    callback = begun(tmp_path / "log")
    callback.write("buffered")
    (described,) = captured(callback)
    assert (described["size_bytes"], described["path"]) == (8, str(tmp_path / "log"))
    callback.close()


def test_a_log_that_the_script_has_moved_is_left_alone(tmp_path: Path) -> None:
    stopped = begun(tmp_path / "log")
    stopped.write("before")
    kept = open_files.keep(captured(stopped))
    stopped.close()
    resumed = begun(tmp_path / "another log")
    open_files.put_back([resumed], [], kept)
    resumed.close()
    assert (tmp_path / "another log").read_text() == ""
    assert (tmp_path / "log").read_text() == "before"


def test_a_callback_that_is_gone_is_passed_by(tmp_path: Path) -> None:
    stopped = begun(tmp_path / "log")
    stopped.write("before")
    kept = open_files.keep(captured(stopped))
    stopped.close()
    open_files.put_back([], [], kept)
    assert (tmp_path / "log").read_text() == "before"


def test_a_log_that_was_thrown_away_is_missing(tmp_path: Path) -> None:
    callback = begun(tmp_path / "log")
    callback.write("before")
    described = captured(callback)
    callback.close()
    (tmp_path / "log").unlink()
    (kept,) = open_files.keep(described)
    assert kept.missing_bytes == len("before")


def test_files_that_are_no_logs_are_not_kept(tmp_path: Path) -> None:
    (tmp_path / "input").write_text("x")
    reading, closed = begun(tmp_path / "input", "r"), begun(tmp_path / "log")
    closed.close()
    assert captured(reading, closed, Logging(tmp_path)) == []
    reading.close()


def test_a_csv_log_has_one_header(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"

    def new() -> Any:
        callback = keras.callbacks.CSVLogger(str(path))
        callback.set_model(keras.Sequential())
        callback.on_train_begin()
        return callback

    stopped = new()
    stopped.on_epoch_end(0, {"loss": 1.0, "val_loss": 2.0})
    described = captured(stopped)
    stopped.on_epoch_end(1, {"loss": 0.5, "val_loss": 2.0})
    stopped.on_train_end()
    kept = open_files.keep(described)
    resumed = new()
    open_files.put_back([resumed], [], kept)
    resumed.on_epoch_end(1, {"loss": 0.25, "val_loss": 3.0})
    resumed.on_train_end()
    assert path.read_text().split() == ["epoch,loss,val_loss", "0,1.0,2.0", "1,0.25,3.0"]


@pytest.mark.parametrize("mode", ["w", "a"])
def test_a_log_of_keras_2_goes_on_too(tmp_path: Path, mode: str) -> None:
    path = str(tmp_path / "log")
    stopped, resumed = keras.callbacks.Callback(), keras.callbacks.Callback()
    stopped.file = tf.io.gfile.GFile(path, mode)
    assert captured(stopped)[0]["size_bytes"] == 0
    stopped.file.write("before\n")
    described = captured(stopped)
    stopped.file.write("done again\n")
    stopped.file.close()
    kept = open_files.keep(described)
    resumed.file = tf.io.gfile.GFile(path, mode)
    open_files.put_back([resumed], [], kept)
    resumed.file.write("again\n")
    resumed.file.close()
    assert Path(path).read_text() == "before\nagain\n"


def test_a_log_that_the_script_opens_goes_on_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, earlier = tmp_path / "log", EarlierFiles()
    first = path.open("w")
    (log,) = _held(first)
    first.write("before\n")
    described = open_files.capture([], [log])
    first.write("done again\n")
    first.close()
    os.utime(path, (1, 1))
    earlier.listen()
    monkeypatch.setattr(open_files, "EARLIER", earlier)
    second = path.open("w")
    kept = open_files.keep(described)
    assert not open_files.put_back([], _held(second), kept)
    second.write("again\n")
    second.close()
    assert path.read_text() == "before\nagain\n"


def test_lines_of_others_stay_in_a_log_that_the_script_appends_to(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("a") as log:
        log.write("before\n")
        described = open_files.capture([], _held(log))
    path.write_text("before\nof another run\n")
    with path.open("a") as log:
        kept = open_files.keep(described)
        assert open_files.put_back([], _held(log), kept) == kept
        log.write("again\n")
    assert path.read_text() == "before\nof another run\nagain\n"
    path.write_text("")
    with path.open("a") as log:
        assert not open_files.put_back([], _held(log), kept)
    assert path.read_text() == "before\n"


def test_a_log_that_was_renamed_is_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "log"
    with path.open("a") as log:
        log.write("before\n")
        described = open_files.capture([], _held(log))
    path.rename(tmp_path / "log.1")
    with path.open("a") as log:
        log.write("more\n")
        log.flush()
        kept = open_files.keep(described)
        assert open_files.put_back([], _held(log), kept) == kept


def test_the_logs_of_logging_are_the_script_s(tmp_path: Path) -> None:
    handler = logging.FileHandler(tmp_path / "log")
    logging.root.addHandler(handler)
    try:
        assert handler.stream in open_files.held_by_script([])
    finally:
        logging.root.removeHandler(handler)
        handler.close()


def _held(file: IO[str]) -> list[Any]:
    rows = csv.writer(file)
    row = keras.callbacks.LambdaCallback(on_epoch_end=lambda epoch, _: rows.writerow([epoch]))
    return open_files.held_by_script([row])


def test_a_finished_training_gives_back_what_its_logs_lack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    short, longer = (tmp_path / name for name in ("short", "longer"))
    logs = [path.open("w") for path in (short, longer)]
    for log in logs:
        log.write("trained\n")
    described = open_files.capture([], logs)
    earlier = EarlierFiles()
    earlier.listen()
    monkeypatch.setattr(open_files, "EARLIER", earlier)
    for log in logs:
        log.close()
    os.utime(short, (1, 1))
    logs = [short.open("w"), longer.open("a")]
    logs[1].write("more\n")
    open_files.lengthen(logs, open_files.keep(described))
    for log in logs:
        log.close()
    assert (short.read_text(), longer.read_text()) == ("trained\n", "trained\nmore\n")


def test_files_that_are_written_by_place_are_no_logs(tmp_path: Path) -> None:
    files = [(tmp_path / mode).open(mode) for mode in ("w+", "w")]
    files[1].write("12")
    files[1].seek(0)
    assert open_files.capture([], open_files.held_by_script(files)) == []
    for file in files:
        file.close()
