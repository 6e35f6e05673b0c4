"""One snapshot in shared memory: a header page, a safetensors image, a state.

    0        header page (4096 bytes, `_HEAD` at its start)
    4096     safetensors image, exactly the bytes of `tensors.safetensors`
    +image   state: the JSON text of `state.json`

A writer stores the snapshot's number, the contents, and then the sizes and the number again: a slot
is whole only when both numbers agree.
"""

from __future__ import annotations

import mmap
import os
import struct
import zlib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor

from pitstop.record import record
from pitstop.store.filesystem import read_fully
from pitstop.store.image import Image

HEAD_BYTES = mmap.PAGESIZE
_MAGIC = b"PITSLOT1"
_HEAD = struct.Struct("<8sQQQQQI")  # magic, begin, image, state, step, end, crc32
_PIECE_BYTES = 8 << 20


@record
class SlotHead:
    """What a whole slot says of itself.  `sequence` grows with every snapshot."""

    sequence: int
    image_bytes: int
    state_bytes: int
    step: int

    @property
    def size_bytes(self) -> int:
        return HEAD_BYTES + self.image_bytes + self.state_bytes


def pack_head(head: SlotHead) -> bytes:
    text = _HEAD.pack(
        _MAGIC, head.sequence, head.image_bytes, head.state_bytes, head.step, head.sequence, 0
    )[:-4]
    return text + struct.pack("<I", zlib.crc32(text))


def pack_unfinished_head(sequence: int) -> bytes:
    """The header while snapshot number `sequence` is being written."""
    return _HEAD.pack(_MAGIC, sequence, 0, 0, 0, 0, 0)


def unpack_head(data: bytes) -> SlotHead | None:
    """The head of a slot, or None when no whole snapshot is in it."""
    if len(data) < _HEAD.size:
        return None
    magic, begin, image_bytes, state_bytes, step, end, crc = _HEAD.unpack_from(data)
    whole = magic == _MAGIC and begin == end != 0 and crc == zlib.crc32(data[: _HEAD.size - 4])
    return SlotHead(begin, image_bytes, state_bytes, step) if whole else None


def read_head(fd: int, offset_bytes: int) -> SlotHead | None:
    return unpack_head(os.pread(fd, _HEAD.size, offset_bytes))


def write_slot(
    view: memoryview,
    sequence: int,
    step: int,
    image: Image,
    tensors: Iterable[memoryview],
    state: bytes,
    threads: int = 1,
) -> SlotHead:
    """Fills a mapped slot; `tensors` in the order of the image's placements.

    With one thread, each is let go before the next is asked for.
    """
    head = SlotHead(sequence, image.size_bytes, len(state), step)
    _store(view, 0, pack_unfinished_head(sequence))
    _store(view, HEAD_BYTES, image.header)
    offsets = (HEAD_BYTES + placement.offset_bytes for placement in image.placements)
    _store_all(view, zip(offsets, tensors, strict=True), threads)
    _store(view, HEAD_BYTES + image.size_bytes, state)
    _store(view, 0, pack_head(head))
    return head


def _store_all(view: memoryview, parts: Iterable[tuple[int, memoryview]], threads: int) -> None:
    if threads == 1:
        for offset_bytes, data in parts:
            _store(view, offset_bytes, data)
            del data
        return
    pieces = [
        (offset_bytes + start, data[start : start + _PIECE_BYTES])
        for offset_bytes, data in parts
        for start in range(0, len(data), _PIECE_BYTES)
    ]
    with ThreadPoolExecutor(threads, "pitstop-copy") as pool:
        # Consumed for the exceptions; the order does not matter.
        list(pool.map(lambda piece: _store(view, *piece), pieces))


def _store(view: memoryview, offset_bytes: int, data: bytes | memoryview) -> None:
    # numpy copies large buffers without holding the interpreter's lock;
    # assignment to a memoryview slice would hold it for the whole copy.
    if len(data) < 1 << 14:
        view[offset_bytes : offset_bytes + len(data)] = data
    else:
        import numpy as np

        target = np.frombuffer(view, np.uint8, len(data), offset_bytes)
        np.copyto(target, np.frombuffer(data, np.uint8))


def read_into(fd: int, target: memoryview, offset_bytes: int) -> None:
    """Fills `target` from an offset of a file on; `EOFError` if it ends too early.

    Reading, not mapping, keeps the arena out of what the OOM killer holds against the persister.
    """
    missing_bytes = len(target) - read_fully(fd, target, offset_bytes)
    if missing_bytes:
        raise EOFError(f"the file is {missing_bytes} bytes too short")
