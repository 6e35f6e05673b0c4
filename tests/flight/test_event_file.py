"""Event files, byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.flight import event_file
from pitstop.flight.event_file import EventFile, crc32c, cut_behind, masked, records, step_of


def test_the_checksum_is_the_one_of_rfc_3720() -> None:
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(bytes(32)) == 0x8A9136AA
    assert crc32c(b"\xff" * 32) == 0x62A8AB43


def test_a_record_is_a_tfrecord() -> None:
    data = event_file.record(b"hello")
    length, length_crc = struct.unpack_from("<QI", data)
    assert (length, length_crc) == (5, masked(struct.pack("<Q", 5)))
    assert data[12:17] == b"hello"
    assert struct.unpack("<I", data[17:]) == (masked(b"hello"),)


@given(st.integers(0, 2**63 - 1))
def test_the_step_of_an_event(tmp_path_factory: pytest.TempPathFactory, step: int) -> None:
    path = written(tmp_path_factory.mktemp("events"), step)
    assert [step_of(event) for _, event in records(path.read_bytes())] == [0, step]


def test_a_number_too_large_for_32_bits_is_infinite() -> None:
    assert event_file.real(2, 1e300) == event_file.real(2, float("inf"))
    assert event_file.real(2, -1e300) == event_file.real(2, float("-inf"))


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
