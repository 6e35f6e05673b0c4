"""Writing a checkpoint: whole or not at all, and why not."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import safetensors
from hypothesis import HealthCheck, given, settings

from pitstop.errors import CheckpointWriteFailed, InternalFault
from pitstop.store.catalog import Catalog
from pitstop.store.filesystem import BLOCK_BYTES, REAL_FILESYSTEM, Filesystem, created_file
from pitstop.store.image import TensorSpec, plan_image
from pitstop.store.manifest import MANIFEST_FILE, STATE_FILE, TENSORS_FILE, decode
from pitstop.store.reader import read_state, read_tensors
from pitstop.store.writer import CheckpointWriter, Stage, StagedFile
from tests.store.samples import SPEC_LISTS, SPECS, Bytes, image_bytes, info, lowered, save, state_of

BIG = [TensorSpec("big", "U8", (1 << 20,))]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(SPEC_LISTS)
def test_what_was_written_is_read_back(tmp_path: Path, specs: list[TensorSpec]) -> None:
    image = plan_image(specs)
    data = image_bytes(image)
    with CheckpointWriter(tmp_path, 1) as writer:
        writer.write_tensors(image, Bytes(data))
        path, manifest = writer.commit(b"{}", info(1))
    received = bytearray()
    read_tensors(path, manifest, received.extend)
    assert received == data
    assert len(safetensors.deserialize(data)) == len(manifest.tensors)


def test_a_checkpoint_is_three_files_named_by_its_step(tmp_path: Path) -> None:
    path, manifest = save(tmp_path, 1234, 1)
    assert path == tmp_path / "00001234"
    assert {file.name for file in path.iterdir()} == {MANIFEST_FILE, STATE_FILE, TENSORS_FILE}
    assert decode((path / MANIFEST_FILE).read_bytes()) == manifest
    assert read_state(path, manifest) == state_of(1234)


def test_a_checkpoint_of_many_pieces_is_written_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pitstop.store.writer.BUFFER_BYTES", BLOCK_BYTES)
    path, manifest = save(tmp_path, 1, 1, specs=[*SPECS, *BIG])
    received = bytearray()
    read_tensors(path, manifest, received.extend)
    assert received == image_bytes(plan_image([*SPECS, *BIG]), 1)


def test_a_taken_name_gets_a_number(tmp_path: Path) -> None:
    names = [save(tmp_path, 8, sequence)[0].name for sequence in (1, 2, 3)]
    assert names == ["00000008", "00000008.2", "00000008.3"]


def test_a_dead_link_takes_a_name_too(tmp_path: Path) -> None:
    (tmp_path / "00000008").symlink_to(tmp_path / "gone")
    assert save(tmp_path, 8, 1)[0].name == "00000008.2"


def test_a_leftover_of_a_crash_is_in_nobody_s_way(tmp_path: Path) -> None:
    leftover = tmp_path / ".partial-1"
    leftover.mkdir()
    (leftover / "junk").write_text("half")
    path, _ = save(tmp_path, 1, 1)
    assert not (path / "junk").exists()


def test_an_exception_inside_leaves_nothing(tmp_path: Path) -> None:
    image = plan_image(SPECS)

    class Interrupted:
        def read_into(self, target: memoryview, offset_bytes: int) -> None:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), CheckpointWriter(tmp_path, 1) as writer:
        writer.write_tensors(image, Interrupted())
    assert list(tmp_path.iterdir()) == []


def test_leaving_without_a_commit_leaves_nothing(tmp_path: Path) -> None:
    with CheckpointWriter(tmp_path, 1):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_commit_needs_tensors(tmp_path: Path) -> None:
    with pytest.raises(InternalFault, match="without its tensors"):  # noqa: SIM117
        with CheckpointWriter(tmp_path, 1) as writer:
            writer.commit(b"{}", info(1))


# -- the disk refuses ---------------------------------------------------------


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A real file system of 256 KiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=256k", "tmpfs", str(folder)]
    if os.geteuid() or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("mounting a small disk needs privileges")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_is_named_and_the_checkpoint_before_is_intact(small_disk: Path) -> None:
    save(small_disk, 1, 1)
    with pytest.raises(CheckpointWriteFailed, match="the disk is full") as caught:
        save(small_disk, 2, 2, specs=BIG)
    assert "Free space" in caught.value.remedy
    assert [path.name for path in small_disk.iterdir()] == ["00000001"]
    [entry] = Catalog(small_disk).entries()
    Catalog(small_disk).verify(entry)


def test_a_full_disk_is_noticed_before_any_byte_is_copied(small_disk: Path) -> None:
    image = plan_image(BIG)

    class Unreadable:
        def read_into(self, target: memoryview, offset_bytes: int) -> None:
            raise AssertionError("the snapshot was read although there is no room for it")

    with pytest.raises(CheckpointWriteFailed), CheckpointWriter(small_disk, 1) as writer:
        writer.write_tensors(image, Unreadable())


class _Refusing(Filesystem):
    """A disk that gives no more room, for a reason that no mount here can make."""

    def __init__(self, number: int) -> None:
        self._number = number

    def allocate(self, fd: int, size_bytes: int) -> None:
        raise OSError(self._number, os.strerror(self._number))


@pytest.mark.parametrize(
    ("number", "reason"),
    [(errno.EDQUOT, "quota is exceeded"), (errno.EIO, "input/output error")],
)
def test_a_quota_or_a_broken_disk_is_named_and_the_checkpoint_before_is_intact(
    tmp_path: Path, number: int, reason: str
) -> None:
    save(tmp_path, 1, 1)
    with pytest.raises(CheckpointWriteFailed, match=reason):
        save(tmp_path, 2, 2, specs=BIG, filesystem=_Refusing(number))
    [entry] = Catalog(tmp_path).entries()
    assert Catalog(tmp_path).verify(entry).info.step == 1


def test_a_read_only_file_system_is_named(small_disk: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(CheckpointWriteFailed, match="read-only"):
        save(small_disk, 1, 1)


@pytest.mark.parametrize(
    ("kind", "limit", "reason"),
    [
        (resource.RLIMIT_FSIZE, 1 << 16, "file size limit"),
        (resource.RLIMIT_NOFILE, 3, "too many open files"),
    ],
)
def test_a_limit_of_the_process_is_named(
    tmp_path: Path, kind: int, limit: int, reason: str
) -> None:
    with lowered(kind, limit), pytest.raises(CheckpointWriteFailed, match=reason):
        save(tmp_path, 1, 1, specs=BIG)
    assert Catalog(tmp_path).entries() == ()
    save(tmp_path, 1, 1, specs=BIG)
    assert [path.name for path in tmp_path.iterdir()] == ["00000001"]


_AS_NOBODY = """
import os, sys
from pathlib import Path
from tests.store.samples import save
os.chdir(sys.argv[1])
if os.geteuid() == 0:
    os.setuid(65534)
save(Path("."), 1, 1)
"""


def test_a_folder_without_permission_is_named(tmp_path: Path) -> None:
    tmp_path.chmod(0o555)
    done = subprocess.run(
        [sys.executable, "-c", _AS_NOBODY, str(tmp_path)],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    tmp_path.chmod(0o755)
    assert "CheckpointWriteFailed" in done.stderr
    assert "no permission" in done.stderr


def test_a_folder_that_is_gone_is_named(tmp_path: Path) -> None:
    with pytest.raises(CheckpointWriteFailed, match="folder is gone"):
        save(tmp_path / "moved away", 1, 1)


@pytest.fixture(autouse=True)
def _small_buffers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pitstop.store.writer.BUFFER_BYTES", BLOCK_BYTES)


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
