"""A run in the TensorBoard of its user."""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.flight import tensorboard_writer
from pitstop.flight.tensorboard_writer import (
    EVERY_SECONDS,
    FOLDER,
    EventFile,
    TensorBoardWriter,
    crc32c,
    cut_behind,
    masked,
    records,
    scalars,
    step_of,
    write_report,
)
from tests.flight.samples import SAMPLE, at


def steps_in(folder: Path) -> list[int]:
    data = [path.read_bytes() for path in sorted((folder / FOLDER).iterdir())]
    return [step for each in data for _, event in records(each) if (step := step_of(event))]


def show(folder: Path, steps: range, attempt: int = 1, resumed_from: int | None = None) -> None:
    tensorboard_writer = TensorBoardWriter(attempt, SAMPLE.time_seconds, lambda: resumed_from)
    for step in steps:
        training = {"step": step, "log_folder": str(folder)}
        tensorboard_writer.see(at(int(step * EVERY_SECONDS), training=training))
    tensorboard_writer.close()


def test_each_step_is_there_once_after_a_resume(tmp_path: Path) -> None:
    show(tmp_path, range(1, 6))
    show(tmp_path, range(4, 8), attempt=2, resumed_from=3)
    assert sorted(steps_in(tmp_path)) == [1, 2, 3, 4, 5, 6, 7]


def test_files_of_another_run_are_left_alone(tmp_path: Path) -> None:
    show(tmp_path, range(1, 6))
    [path] = (tmp_path / FOLDER).iterdir()
    path.rename(path.with_name("events.out.tfevents.1000000000.host.5.pitstop"))
    show(tmp_path, range(4, 6), attempt=2, resumed_from=3)
    assert sorted(steps_in(tmp_path)) == [1, 2, 3, 4, 4, 5, 5]


def test_a_step_that_does_not_end_is_not_shown_again(tmp_path: Path) -> None:
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    for second in range(0, 100, 20):
        training = {"step": 5, "log_folder": str(tmp_path)}
        tensorboard_writer.see(at(second, training=training))
    tensorboard_writer.close()
    assert steps_in(tmp_path) == [5]


def test_it_is_shown_every_ten_seconds(tmp_path: Path) -> None:
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    for second in range(31):
        training = {"step": second + 1, "log_folder": str(tmp_path)}
        tensorboard_writer.see(at(second, training=training))
    tensorboard_writer.close()
    assert steps_in(tmp_path) == [1, 11, 21, 31]


def test_without_a_log_folder_nothing_is_written(tmp_path: Path) -> None:
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    tensorboard_writer.see(replace(SAMPLE, training=None))
    tensorboard_writer.see(at(0, training={"log_folder": ""}))
    tensorboard_writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    tensorboard_writer.see(at(0, training={"log_folder": str(tmp_path / "logs")}))
    tensorboard_writer.close()
    write_report(tmp_path / "logs", 5, 6.0, "text")
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_report_is_among_the_texts(tmp_path: Path) -> None:
    write_report(tmp_path, 5, 6.0, "# Killed")
    assert steps_in(tmp_path) == [5]


def test_a_report_survives_a_resume_from_before_it(tmp_path: Path) -> None:
    show(tmp_path, range(1, 4))
    write_report(tmp_path, 3, SAMPLE.time_seconds + 40, "# Killed")
    show(tmp_path, range(2, 4), attempt=2, resumed_from=1)
    assert sorted(steps_in(tmp_path)) == [1, 2, 3, 3]


def test_scalars() -> None:
    later = at(2, training={"step": 140, "input_seconds": 1.5, "step_seconds": 7.0})
    found = scalars(SAMPLE, later)
    assert found["pitstop/memory_mb"] == 2500.0
    assert found["pitstop/steps_per_second"] == 20.0
    assert found["pitstop/input_share"] == 0.25
    assert found["pitstop/gpu0/utilization"] == 0.9
    assert found["pitstop/disk_free_mb"] == 40_000.0
    assert "pitstop/steps_per_second" not in scalars(None, later)


def test_the_checksum_is_the_one_of_rfc_3720() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


def test_a_record_is_a_tfrecord() -> None:
    data = tensorboard_writer.record(b"hello")
    length, length_crc = struct.unpack_from("<QI", data)
    assert (length, length_crc) == (5, masked(struct.pack("<Q", 5)))
    assert data[12:17] == b"hello"
    assert struct.unpack("<I", data[17:]) == (masked(b"hello"),)


@given(st.integers(0, 2**63 - 1))
def test_the_step_of_an_event(tmp_path_factory: pytest.TempPathFactory, step: int) -> None:
    path = written(tmp_path_factory.mktemp("events"), step)
    assert [step_of(event) for _, event in records(path.read_bytes())] == [0, step]


def test_a_number_too_large_for_32_bits_is_infinite() -> None:
    assert tensorboard_writer.real(2, 1e300) == tensorboard_writer.real(2, float("inf"))
    assert tensorboard_writer.real(2, -1e300) == tensorboard_writer.real(2, float("-inf"))


def written(folder: Path, *steps: int) -> Path:
    file = EventFile(folder, 1000.5)
    for step in steps:
        file.scalars(step, 1000.5 + step, {"a": 1.0, "b": 2.0})
    file.close()
    return file.path


def test_a_file_begins_with_its_version(tmp_path: Path) -> None:
    path = written(tmp_path)
    [(at, event)] = records(path.read_bytes())
    assert at == 0
    assert b"brain.Event:2" in event
    assert path.name.startswith("events.out.tfevents.0000001000.")


def test_steps_behind_the_cut_are_gone(tmp_path: Path) -> None:
    path = written(tmp_path, 10, 20, 30)
    cut_behind(path, 20)
    assert [step_of(event) for _, event in records(path.read_bytes())] == [0, 10, 20]
    cut_behind(path, 25)
    assert [step_of(event) for _, event in records(path.read_bytes())] == [0, 10, 20]


def test_half_a_record_is_not_there(tmp_path: Path) -> None:
    data = written(tmp_path, 10, 20).read_bytes()
    assert [step_of(event) for _, event in records(data[:-3])] == [0, 10]


def test_a_file_that_ends_in_zeros_is_cut_all_the_same(tmp_path: Path) -> None:
    """As a machine that went down may leave it."""
    path = written(tmp_path, 10, 20)
    path.write_bytes(path.read_bytes() + bytes(64))
    cut_behind(path, 10)
    assert [step_of(event) for _, event in records(path.read_bytes())] == [0, 10]
    path.write_bytes(path.read_bytes() + bytes(64))
    cut_behind(path, 10)


def test_a_text_is_one_for_tensorboard(tmp_path: Path) -> None:
    file = EventFile(tmp_path, 5.0)
    file.text(7, 5.0, "why", "# It stopped")
    file.close()
    _, event = list(records(file.path.read_bytes()))[-1]
    assert step_of(event) == 7
    assert b"# It stopped" in event
    assert b"text" in event
