"""Reads a checkpoint and believes none of it before its checksum holds."""

from __future__ import annotations

import contextlib
import errno
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from xxhash import xxh3_64_hexdigest

from pitstop.errors import CheckpointCorrupt, EnvironmentFault
from pitstop.store.digest import Span, SpanHasher
from pitstop.store.disk_fault import explain
from pitstop.store.manifest import STATE_FILE, TENSORS_FILE, FileEntry, Manifest

PIECE_BYTES = 8 * 1024 * 1024
"""Bytes read and hashed at a time: small enough to stay in a CPU cache."""

_DAMAGE = {
    errno.ENOENT: "is missing",
    errno.ENOTDIR: "is missing",
    errno.EISDIR: "is a folder",
    errno.EIO: "cannot be read from the disk (input/output error)",
}


def read_tensors(path: Path, manifest: Manifest, sink: Callable[[memoryview], None]) -> None:
    """Streams the tensors file, header included, into `sink`, verifying it.

    Args:
        path: the checkpoint's folder.
        manifest: what the checkpoint promises.
        sink: gets the bytes in order; each view is valid during the call only.
            What it got is good only when this function returns.

    Raises:
        CheckpointCorrupt: a tensor or the file is not what was promised.
        EnvironmentFault: the file may not be opened or read.
    """
    entry = _entry(path, manifest, TENSORS_FILE)
    hasher = SpanHasher(_spans(manifest))
    with opened(path, TENSORS_FILE) as file:
        for piece in _pieces(file):
            _check_tensors(path, manifest, hasher.update(piece))
            sink(piece)
    _check_file(path, TENSORS_FILE, entry, FileEntry(hasher.position_bytes, hasher.whole()))


def read_state(path: Path, manifest: Manifest) -> bytes:
    """The checkpoint's state, verified.

    Raises:
        CheckpointCorrupt: it is not what was promised.
        EnvironmentFault: the file may not be opened or read.
    """
    entry = _entry(path, manifest, STATE_FILE)
    with opened(path, STATE_FILE) as file:
        state = file.read()
    _check_file(path, STATE_FILE, entry, FileEntry(len(state), xxh3_64_hexdigest(state)))
    return state


@contextlib.contextmanager
def opened(path: Path, name: str) -> Iterator[BinaryIO]:
    """One file of the checkpoint `path`, open for reading.

    Raises:
        CheckpointCorrupt: it is missing or the disk lost it, then or while reading.
        EnvironmentFault: this process may not read it.
    """
    try:
        with (path / name).open("rb", buffering=0) as file:
            yield file
    except OSError as error:
        damage = _DAMAGE.get(error.errno or 0)
        if damage:
            raise CheckpointCorrupt(path, f"{name} {damage}") from error
        fault = explain(error)
        raise EnvironmentFault(
            f"{path / name} cannot be read: {fault.cause}.", fault.remedy
        ) from error


def _entry(path: Path, manifest: Manifest, name: str) -> FileEntry:
    if name not in manifest.files:
        raise CheckpointCorrupt(path, f"its manifest does not name {name}")
    return manifest.files[name]


def _spans(manifest: Manifest) -> list[Span]:
    spans = (
        Span(name, entry.offset_bytes, entry.offset_bytes + entry.size_bytes)
        for name, entry in manifest.tensors.items()
    )
    return sorted(spans, key=lambda span: (span.start_bytes, span.end_bytes))


def _pieces(file: BinaryIO) -> Iterator[memoryview]:
    buffer = memoryview(bytearray(PIECE_BYTES))
    while size_bytes := file.readinto(buffer):  # type: ignore[attr-defined]
        yield buffer[:size_bytes]


def _check_tensors(path: Path, manifest: Manifest, digests: dict[str, str]) -> None:
    for name, digest in digests.items():
        if digest != manifest.tensors[name].xxh3_64:
            raise CheckpointCorrupt(path, f"tensor {name!r} does not match its checksum")


def _check_file(path: Path, name: str, promised: FileEntry, found: FileEntry) -> None:
    if found.size_bytes != promised.size_bytes:
        raise CheckpointCorrupt(
            path, f"{name} has {found.size_bytes} bytes instead of {promised.size_bytes}"
        )
    if found != promised:
        raise CheckpointCorrupt(path, f"{name} does not match its checksum")
