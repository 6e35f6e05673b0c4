"""Faults of the machine that a test can make: small, slow and read-only disks, a clock set back."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from pitstop.machine import cgroup

_LIMIT_FILES = {1: "memory.limit_in_bytes", 2: "memory.max"}
_REMOVAL_SECONDS = 20.0
_THROTTLE = Path("/sys/fs/cgroup/blkio")


def _do(*words: str | Path) -> None:
    done = subprocess.run([str(word) for word in words], capture_output=True, check=False)
    if done.returncode:
        reason = done.stderr.decode().strip()
        pytest.skip(f"this machine or user cannot `{words[0]}`: {reason}")


@contextmanager
def mounted(folder: Path, *options: str | Path) -> Iterator[Path]:
    """A file system on a folder, which is made."""
    folder.mkdir(exist_ok=True)
    _do("mount", *options, folder)
    try:
        yield folder
    finally:
        subprocess.run(["umount", "--lazy", str(folder)], check=True)


@contextmanager
def real_disk(folder: Path, *features: str) -> Iterator[Path]:
    """A small ext4 file system on a block device."""
    image = folder.with_suffix(".img")
    with image.open("wb") as file:
        file.truncate(64 << 20)
    _do("mkfs.ext4", "-q", *features, image)
    with mounted(folder, "-o", "loop", image) as disk:
        shutil.rmtree(disk / "lost+found", ignore_errors=True)
        yield disk


@contextmanager
def mended_disk(folder: Path) -> Iterator[Path]:
    """What is on a `real_disk` that is no longer mounted, checked, on a device of its own.

    The old device may live on: a process that made a mount namespace meanwhile, as other tests
    do, holds it with its faults.
    """
    mended = folder.with_suffix(".mended")
    shutil.copyfile(folder.with_suffix(".img"), mended)
    # 1: errors were corrected.
    checked = subprocess.run(["e2fsck", "-f", "-y", mended], capture_output=True, check=False)
    assert checked.returncode in (0, 1), checked.stdout
    with mounted(folder, "-o", "loop", mended) as disk:
        yield disk


def break_disk(disk: Path) -> None:
    """The kernel takes an ext4 file system for damaged, and writes no more to it."""
    _do("mount", "-o", "remount,abort", disk)


@contextmanager
def throttled(disk: Path, bytes_per_second: int) -> Iterator[list[str]]:
    """Words to put before a command whose writes to a disk are to be so slow."""
    group = _THROTTLE / f"pitstop-test-{os.getpid()}"
    if not (_THROTTLE / "blkio.throttle.write_bps_device").exists() and not os.access(
        _THROTTLE, os.W_OK
    ):
        pytest.skip("no block device can be throttled here")
    group.mkdir()
    device = disk.stat().st_dev
    rule = f"{os.major(device)}:{os.minor(device)} {bytes_per_second}"
    (group / "blkio.throttle.write_bps_device").write_text(rule)
    try:
        yield ["sh", "-c", f'echo $$ > {group}/cgroup.procs && exec "$@"', "throttled"]
    finally:
        group.rmdir()


@contextmanager
def limited_memory(limit_bytes: int) -> Iterator[Path]:
    """A memory cgroup with a limit, below the one of this process."""
    parent = cgroup.find(os.getpid())
    if parent is None:
        pytest.skip("no memory cgroup is visible here")
    folder = parent.folder / f"pitstop-test-{os.getpid()}"
    try:
        folder.mkdir()
    except OSError as error:
        pytest.skip(f"no memory cgroup can be made here: {error}")
    try:
        _limit(folder / _LIMIT_FILES[parent.version], limit_bytes)
        yield folder
    finally:
        _remove(folder)


def _remove(group: Path) -> None:
    """Removes a cgroup whose last processes are still being taken apart."""
    give_up_at = time.monotonic() + _REMOVAL_SECONDS
    while time.monotonic() < give_up_at:
        with suppress(OSError):
            group.rmdir()
            return
        time.sleep(0.1)
    group.rmdir()


def _limit(file: Path, limit_bytes: int) -> None:
    try:
        file.write_text(str(limit_bytes))
    except OSError as error:
        pytest.skip(f"the memory of a cgroup cannot be limited here: {error}")


def clock_environment(file: Path) -> dict[str, str]:
    """Variables for a process whose wall clock follows the offset in a file, such as `-1h`."""
    found = importlib.util.find_spec("libfaketime")
    libraries = (
        list(Path(found.origin).parent.rglob("libfaketime.so.1"))
        if (found and found.origin)
        else []
    )
    if not libraries:
        pytest.skip("libfaketime is not installed")
    return {
        "LD_PRELOAD": str(libraries[0]),
        "FAKETIME_TIMESTAMP_FILE": str(file),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }
