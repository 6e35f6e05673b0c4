"""A range of a file arrives whole and in order, whatever its length."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.store import reader
from pitstop.store.reader import read_ahead

DATA = bytes(range(100))


@pytest.fixture
def fd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(reader, "PIECE_BYTES", 7)
    (tmp_path / "file").write_bytes(DATA)
    opened = os.open(tmp_path / "file", os.O_RDONLY)
    yield opened
    os.close(opened)


@pytest.mark.parametrize("size_bytes", [0, 1, 7, 8, 70, 95])
def test_every_byte_of_the_range_comes_once(fd: int, size_bytes: int) -> None:
    assert b"".join(map(bytes, read_ahead(fd, 5, size_bytes))) == DATA[5 : 5 + size_bytes]


def test_a_range_beyond_the_end_is_cut(fd: int) -> None:
    assert b"".join(map(bytes, read_ahead(fd, 90, 50))) == DATA[90:]


def test_a_reader_that_leaves_early_leaves_no_thread(fd: int) -> None:
    pieces = read_ahead(fd, 0, 100)
    next(pieces)
    pieces.close()  # type: ignore[attr-defined]
    with pytest.raises(StopIteration):
        next(pieces)


def test_what_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    folder = os.open(tmp_path, os.O_RDONLY)
    with pytest.raises(IsADirectoryError):
        list(read_ahead(folder, 0, 10))
    os.close(folder)
