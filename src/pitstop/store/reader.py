"""Reads a checkpoint and believes none of it before its checksum holds."""

import contextlib
import errno
import json
import os
from collections.abc import Callable, Generator, Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from xxhash import xxh3_64_hexdigest

from pitstop.errors import CheckpointCorrupt, EnvironmentFault
from pitstop.machine.regular_file import open_regular
from pitstop.store.digest import StreamHasher, checksum
from pitstop.store.disk_fault import explain
from pitstop.store.filesystem import read_fully
from pitstop.store.image import (
    LENGTH_BYTES,
    Image,
    TensorSpec,
    header_size_bytes,
    parse_image,
    plan_image,
)
from pitstop.store.increment import joined
from pitstop.store.manifest import STATE_FILE, TENSORS_FILE, FileEntry, Manifest, Part

PIECE_BYTES = 8 << 20
"""Bytes read at a time: small enough to stay in a CPU cache, large enough for a disk."""
_DAMAGE = {
    errno.EINVAL: "is not a regular file",
    errno.ENOENT: "is missing",
    errno.ENOTDIR: "is missing",
    errno.EISDIR: "is a folder",
    errno.EIO: "cannot be read from the disk (input/output error)",
}

_MOST_STATE_BYTES = 1 << 28


def read_ahead(fd: int, offset_bytes: int, size_bytes: int) -> Iterator[memoryview]:
    """The bytes of a range; fewer where the file ends.  Each piece is valid until the next one."""
    count = -(-size_bytes // PIECE_BYTES)
    room_bytes = min(PIECE_BYTES, size_bytes)
    buffers = [memoryview(bytearray(room_bytes)) for _ in range(min(count, 2))]

    def read(number: int) -> memoryview:
        start = number * PIECE_BYTES
        room = buffers[number % 2][: size_bytes - start]
        return room[: read_fully(fd, room, offset_bytes + start)]

    if count == 1:
        yield read(0)
        return
    from concurrent.futures import ThreadPoolExecutor

    os.posix_fadvise(fd, offset_bytes, size_bytes, os.POSIX_FADV_SEQUENTIAL)
    with ThreadPoolExecutor(1, "pitstop-reader") as pool:
        ahead = pool.submit(read, 0)
        for number in range(count):
            piece = ahead.result()
            if number + 1 < count:
                ahead = pool.submit(read, number + 1)
            yield piece


def image_of(manifest: Manifest) -> Image:
    return plan_image(
        [TensorSpec(name, each.dtype, each.shape) for name, each in manifest.tensors.items()]
    )


def read_tensors(
    path: Path, manifest: Manifest, sink: Callable[[memoryview], None]
) -> dict[str, bytes]:
    """Streams all tensors into `sink` as one safetensors file; by tensor, digests of its chunks.

    Each view is valid during the call only; what `sink` got is good only when this function
    returns. Raises `CheckpointCorrupt`, or `EnvironmentFault` where a file may not be opened or
    read.
    """
    check_files(path, manifest)
    image = image_of(manifest)
    sink(memoryview(image.header))
    return _read_checked(path, manifest, image, sink)


def read_tensor(path: Path, manifest: Manifest, name: str) -> bytes:
    """The bytes of one tensor, verified, and refused, as by `read_tensors`."""
    entry = manifest.tensors[name]
    alone = plan_image([TensorSpec(name, entry.dtype, entry.shape)])
    received = bytearray()
    _read_checked(path, manifest, alone, received.extend)
    return bytes(received)


def read_state(path: Path, manifest: Manifest) -> bytes:
    """The checkpoint's state, verified as by `read_tensors`; else `CheckpointCorrupt`."""
    promised = _entry(path, manifest, STATE_FILE)
    if promised.size_bytes > _MOST_STATE_BYTES:
        raise CheckpointCorrupt(path, f"{STATE_FILE} is too large: {promised.size_bytes} bytes")
    with opened(path, STATE_FILE) as file:
        state = file.read(promised.size_bytes + 1)
    _check_size(path, STATE_FILE, promised, len(state))
    if xxh3_64_hexdigest(state) != promised.xxh3_64:
        raise CheckpointCorrupt(path, f"{STATE_FILE} does not match its checksum")
    if not _is_object(state):
        raise CheckpointCorrupt(path, f"{STATE_FILE} is not a JSON object, or is nested too deeply")
    return state


def _is_object(state: bytes) -> bool:
    try:
        return isinstance(json.loads(state), dict)
    except (ValueError, RecursionError):
        return False


def check_files(path: Path, manifest: Manifest) -> None:
    """Size and header of every tensors file; or `CheckpointCorrupt`, `EnvironmentFault`."""
    _entry(path, manifest, TENSORS_FILE)
    for name, promised in manifest.files.items():
        if name != STATE_FILE:
            with opened(path, name) as file:
                _check_size(path, name, promised, os.fstat(file.fileno()).st_size)
                header = _header(file)
            if xxh3_64_hexdigest(header) != promised.xxh3_64:
                raise CheckpointCorrupt(path, f"{name} does not match its checksum")
            if name == TENSORS_FILE:
                _check_held(path, manifest, header)


def _check_held(path: Path, manifest: Manifest, header: bytes) -> None:
    """The file that this checkpoint wrote contains exactly what its manifest lists."""
    try:
        placements = parse_image(header).placements
    except ValueError as error:
        raise CheckpointCorrupt(path, f"{TENSORS_FILE}: {error}") from error
    parts = (part for each in manifest.tensors.values() for part in each.parts)
    named = {(each.offset_bytes, each.size_bytes) for each in parts if each.file == TENSORS_FILE}
    held = {(each.offset_bytes, each.size_bytes) for each in placements if each.size_bytes}
    more = [
        place.spec.name
        for place in placements
        if (place.offset_bytes, place.size_bytes) not in named
        and (place.size_bytes or place.spec.name not in manifest.tensors)
    ]
    if more:
        raise CheckpointCorrupt(path, f"its manifest does not list {more[0]!r} of {TENSORS_FILE}")
    if named - held:
        raise CheckpointCorrupt(path, f"{TENSORS_FILE} lacks tensors that its manifest lists")


@contextlib.contextmanager
def opened(path: Path, name: str) -> Iterator[BinaryIO]:
    """One file of the checkpoint `path`, open for reading.

    `CheckpointCorrupt` where it is missing or the disk lost it, then or while reading;
    `EnvironmentFault` where this process may not read it.
    """
    try:
        with open_regular(path / name, buffering=0) as file:
            yield file
    except OSError as error:
        damage = _DAMAGE.get(error.errno or 0)
        if damage:
            raise CheckpointCorrupt(path, f"{name} {damage}") from error
        fault = explain(error)
        raise EnvironmentFault(
            f"{path / name} cannot be read: {fault.cause}.", fault.remedy
        ) from error


def _read_checked(
    path: Path, manifest: Manifest, image: Image, sink: Callable[[memoryview], None]
) -> dict[str, bytes]:
    names = [place.spec.name for place in image.placements]
    hasher = StreamHasher((name, manifest.tensors[name].size_bytes) for name in names)

    def _check(complete: Iterable[str]) -> None:
        for name in complete:
            if checksum(hasher.chunks[name]) != manifest.tensors[name].xxh3_64:
                raise CheckpointCorrupt(path, f"tensor {name!r} does not match its checksum")

    parts = (part for name in names for part in manifest.tensors[name].parts)
    with contextlib.closing(_pieces(path, parts)) as pieces:
        for piece in pieces:
            _check(hasher.update(piece))
            sink(piece)
    _check(hasher.update(memoryview(b"")))
    return hasher.chunks


def _pieces(path: Path, parts: Iterable[Part]) -> Generator[memoryview]:
    """The bytes of the parts, in order, read while the caller is busy with the last ones."""
    with contextlib.ExitStack() as files:
        fds: dict[str, int] = {}
        done_bytes = 0
        for part in joined(parts):
            if part.file not in fds:
                fds[part.file] = files.enter_context(opened(path, part.file)).fileno()
            end_bytes = done_bytes + part.size_bytes
            for piece in read_ahead(fds[part.file], part.offset_bytes, part.size_bytes):
                done_bytes += len(piece)
                yield piece
            if done_bytes < end_bytes:
                raise CheckpointCorrupt(path, f"{part.file} ends too early")


def _entry(path: Path, manifest: Manifest, name: str) -> FileEntry:
    if name not in manifest.files:
        raise CheckpointCorrupt(path, f"its manifest does not list {name}")
    return manifest.files[name]


def _check_size(path: Path, name: str, promised: FileEntry, size_bytes: int) -> None:
    if size_bytes != promised.size_bytes:
        raise CheckpointCorrupt(
            path, f"{name} has {size_bytes} bytes instead of {promised.size_bytes}"
        )


def _header(file: BinaryIO) -> bytes:
    length = file.read(LENGTH_BYTES)
    try:
        return length + file.read(header_size_bytes(length) - LENGTH_BYTES)
    except ValueError:
        return b""
