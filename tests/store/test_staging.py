"""Buffers are written in order, and a disk's refusal is heard."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from pitstop.store import staging
from pitstop.store.filesystem import BLOCK_BYTES, REAL_FILESYSTEM, Filesystem, created_file
from pitstop.store.staging import Stage, StagedFile


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(staging, "BUFFER_BYTES", BLOCK_BYTES)


@pytest.mark.parametrize("size_bytes", [0, 1, BLOCK_BYTES, 10 * BLOCK_BYTES + 7])
def test_what_is_appended_is_in_the_file(tmp_path: Path, size_bytes: int) -> None:
    data, waits = os.urandom(size_bytes), []
    with (
        created_file(REAL_FILESYSTEM, tmp_path / "file") as fd,
        StagedFile(Stage(), REAL_FILESYSTEM, fd, lambda: waits.append(1)) as file,
    ):
        for start in range(0, size_bytes, 1000):
            file.append(data[start : start + 1000])
    assert (tmp_path / "file").read_bytes() == data
    assert len(waits) == max(1, -(-size_bytes // BLOCK_BYTES))


def test_a_stage_serves_one_file_after_the_other_also_after_a_failure(tmp_path: Path) -> None:
    stage = Stage()
    with pytest.raises(OSError, match="No space"):
        _fill(tmp_path / "full", stage)
    with (
        created_file(REAL_FILESYSTEM, tmp_path / "next") as fd,
        StagedFile(stage, REAL_FILESYSTEM, fd) as file,
    ):
        file.append(b"x" * (BLOCK_BYTES + 1))
    assert (tmp_path / "next").read_bytes() == b"x" * (BLOCK_BYTES + 1)


@contextlib.contextmanager
def _open(path: Path) -> Iterator[StagedFile]:
    with (
        created_file(REAL_FILESYSTEM, path) as fd,
        StagedFile(Stage(), REAL_FILESYSTEM, fd) as file,
    ):
        yield file


def _interrupted(file: StagedFile) -> None:
    file.append(b"x")
    raise KeyboardInterrupt


class _Full(Filesystem):
    def write_past_cache(self, fd: int, data: memoryview) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _fill(path: Path, stage: Stage, pieces: int = 20) -> None:
    with created_file(REAL_FILESYSTEM, path) as fd, StagedFile(stage, _Full(), fd) as file:
        for _ in range(pieces):
            file.append(bytes(BLOCK_BYTES))


@pytest.mark.parametrize("pieces", [1, 2, 20])
def test_a_full_disk_is_heard_of_at_the_latest_at_the_end(tmp_path: Path, pieces: int) -> None:
    with pytest.raises(OSError, match="No space"):
        _fill(tmp_path / "file", Stage(), pieces)


def test_an_exception_inside_comes_out_unchanged(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt), _open(tmp_path / "file") as file:
        _interrupted(file)
    assert (tmp_path / "file").read_bytes() == b""
