"""The operations that durable writing is made of."""

from __future__ import annotations

import fcntl
import mmap
import os
import resource
import tempfile
from pathlib import Path

import pytest

from pitstop.store.filesystem import BLOCK_BYTES, REAL_FILESYSTEM, created_file, replace_file
from tests.store.crash_disk import RecordingFilesystem
from tests.store.samples import lowered


def test_replacing_leaves_the_new_content_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    replace_file(path, b"a longer old content")
    replace_file(path, b"new")
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_a_replacement_is_on_the_disk_before_it_is_named_and_so_is_its_name(
    tmp_path: Path,
) -> None:
    recording = RecordingFilesystem()
    replace_file(tmp_path / "run.json", b"new", recording)
    kinds = [operation.kind for operation in recording.operations]
    assert kinds == ["create", "write", "sync_file", "rename", "sync_dir"]


def test_a_failed_replacement_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "taken"
    path.mkdir()
    with pytest.raises(IsADirectoryError):
        replace_file(path, b"new")
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_is_never_written_over(tmp_path: Path) -> None:
    (tmp_path / "a").write_text("mine")
    with pytest.raises(FileExistsError), created_file(REAL_FILESYSTEM, tmp_path / "a"):
        pass
    assert (tmp_path / "a").read_text() == "mine"


def test_a_failure_while_writing_closes_the_file(tmp_path: Path) -> None:
    with pytest.raises(KeyError), created_file(REAL_FILESYSTEM, tmp_path / "a") as fd:
        raise KeyError
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_write_that_is_cut_short_goes_on_until_it_fails(tmp_path: Path) -> None:
    path = tmp_path / "a"
    with (
        lowered(resource.RLIMIT_FSIZE, 100),
        pytest.raises(OSError, match="File too large"),
        created_file(REAL_FILESYSTEM, path) as fd,
    ):
        REAL_FILESYSTEM.write(fd, memoryview(bytes(150)))
    assert path.stat().st_size == 100


def test_space_is_reserved_and_then_filled_from_the_start(tmp_path: Path) -> None:
    with created_file(REAL_FILESYSTEM, tmp_path / "a") as fd:
        REAL_FILESYSTEM.allocate(fd, 10_000)
        assert os.fstat(fd).st_blocks * 512 >= 10_000
        REAL_FILESYSTEM.write(fd, memoryview(b"abc"))
    assert (tmp_path / "a").read_bytes() == b"abc" + bytes(9_997)


@pytest.mark.parametrize("size_bytes", [0, 1, BLOCK_BYTES, 3 * BLOCK_BYTES + 5])
def test_writing_past_the_cache_appends_every_byte(tmp_path: Path, size_bytes: int) -> None:
    buffer = memoryview(mmap.mmap(-1, 1 << 16))
    buffer[:] = os.urandom(1 << 16)
    with created_file(REAL_FILESYSTEM, tmp_path / "file") as fd:
        REAL_FILESYSTEM.write_past_cache(fd, buffer[:BLOCK_BYTES])
        REAL_FILESYSTEM.write_past_cache(fd, buffer[:size_bytes])
        assert not fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_DIRECT
    written = (tmp_path / "file").read_bytes()
    assert written == bytes(buffer[:BLOCK_BYTES]) + bytes(buffer[:size_bytes])


@pytest.mark.parametrize("size_bytes", [5, 2 * BLOCK_BYTES])
def test_memory_that_a_disk_cannot_take_directly_goes_through_the_cache(
    tmp_path: Path, size_bytes: int
) -> None:
    buffer = memoryview(os.urandom(size_bytes + 1))[1:]
    with created_file(REAL_FILESYSTEM, tmp_path / "file") as fd:
        REAL_FILESYSTEM.write_past_cache(fd, buffer)
    assert (tmp_path / "file").read_bytes() == buffer


def test_a_file_system_in_memory_is_written_too() -> None:
    with tempfile.TemporaryDirectory(dir="/dev/shm") as folder:
        buffer = memoryview(mmap.mmap(-1, 2 * BLOCK_BYTES))
        with created_file(REAL_FILESYSTEM, Path(folder) / "file") as fd:
            REAL_FILESYSTEM.write_past_cache(fd, buffer)
        assert (Path(folder) / "file").stat().st_size == 2 * BLOCK_BYTES


def test_a_second_name_keeps_a_file_alive(tmp_path: Path) -> None:
    (tmp_path / "one").write_bytes(b"data")
    REAL_FILESYSTEM.link(tmp_path / "one", tmp_path / "two")
    (tmp_path / "one").unlink()
    assert (tmp_path / "two").read_bytes() == b"data"
