"""Reads a range of a file piece by piece, always one piece ahead of the reader."""

from __future__ import annotations

import os
from collections.abc import Iterator

PIECE_BYTES = 8 << 20
"""Bytes read at a time: small enough to stay in a CPU cache, large enough for a disk."""


def read_ahead(fd: int, offset_bytes: int, size_bytes: int) -> Iterator[memoryview]:
    """The bytes of a range; fewer where the file ends.  Each piece is valid until the next one.

    Raises:
        OSError: the file cannot be read.
    """
    count = -(-size_bytes // PIECE_BYTES)
    room_bytes = min(PIECE_BYTES, size_bytes)
    buffers = [memoryview(bytearray(room_bytes)) for _ in range(min(count, 2))]

    def read(number: int) -> memoryview:
        start = number * PIECE_BYTES
        room = buffers[number % 2][: size_bytes - start]
        return room[: _read_fully(fd, room, offset_bytes + start)]

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


def _read_fully(fd: int, room: memoryview, offset_bytes: int) -> int:
    done = 0
    while done < len(room):
        count = os.preadv(fd, [room[done:]], offset_bytes + done)
        if count == 0:
            break
        done += count
    return done
