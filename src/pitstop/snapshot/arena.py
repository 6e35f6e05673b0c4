"""The shared memory that snapshots are copied into: two slots in one file.

The file has no name: the kernel frees it when trainer and persister are gone.  Two slots, because
the newest whole snapshot must survive while the next one is written or the last one is read.

    0        header page (4096 bytes, `_HEAD` at its start)
    4096     safetensors image, exactly the bytes of `tensors.safetensors`
    +image   state: the JSON text of `state.json`

A writer stores the snapshot's number, the contents, and then the sizes and the number again: a slot
is whole only when both numbers agree.
"""

import contextlib
import mmap
import os
import struct
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol, Self

from pitstop.record import Frozen
from pitstop.store.filesystem import read_fully
from pitstop.store.image import Image

HEAD_BYTES = mmap.PAGESIZE
_MAGIC = b"PITSLOT1"
_HEAD = struct.Struct("<8sQQQQQI")  # magic, begin, image, state, step, end, crc32
PIECE_BYTES = 8 << 20


class DeviceBytes(Protocol):
    """Bytes that are in the memory of a device; a slice of them has the same form."""

    def __len__(self) -> int: ...

    def __getitem__(self, part: slice, /) -> Self: ...

    def copy_to(self, target: memoryview) -> None:
        """Fills a target of the same size, at most `PIECE_BYTES`."""


class SlotHead(Frozen):
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
    tensors: Iterable[memoryview | DeviceBytes],
    state: bytes,
    threads: int = 1,
) -> SlotHead:
    """Fills a mapped slot; `tensors` in the order of the image's placements.

    With one thread, each is released before the next is asked for.
    """
    head = SlotHead(sequence, image.size_bytes, len(state), step)
    _store(view, 0, pack_unfinished_head(sequence))
    _store(view, HEAD_BYTES, image.header)
    offsets = (HEAD_BYTES + placement.offset_bytes for placement in image.placements)
    _store_all(view, zip(offsets, tensors, strict=True), threads)
    _store(view, HEAD_BYTES + image.size_bytes, state)
    _store(view, 0, pack_head(head))
    return head


_Part = tuple[int, memoryview | DeviceBytes]  # and where it begins in the slot


def _store_all(view: memoryview, parts: Iterable[_Part], threads: int) -> None:
    if threads == 1:
        for part in parts:
            _store_part(view, *part)
            del part
        return
    pieces = [piece for part in parts for piece in _pieces(*part)]
    with ThreadPoolExecutor(threads, "pitstop-copy") as pool:
        # Consumed for the exceptions; the order does not matter.
        list(pool.map(lambda piece: _store(view, *piece), pieces))


def _store_part(view: memoryview, offset_bytes: int, data: memoryview | DeviceBytes) -> None:
    for piece in _pieces(offset_bytes, data):
        _store(view, *piece)


def _pieces(offset_bytes: int, data: memoryview | DeviceBytes) -> Iterator[_Part]:
    for start in range(0, len(data), PIECE_BYTES):
        yield offset_bytes + start, data[start : start + PIECE_BYTES]


def _store(view: memoryview, offset_bytes: int, data: bytes | memoryview | DeviceBytes) -> None:
    # numpy copies large buffers without holding the interpreter's lock;
    # assignment to a memoryview slice would hold it for the whole copy.
    end_bytes = offset_bytes + len(data)
    if not isinstance(data, (bytes, memoryview)):
        data.copy_to(view[offset_bytes:end_bytes])
    elif len(data) < 1 << 14:
        view[offset_bytes:end_bytes] = data
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


SLOTS = 2
_PREFAULT_BYTES = 16 << 20
_SPARE_BYTES = 1 << 20
_SPARE_SHARE = 32
"""A slot is a 32nd larger than its first snapshot: two of them take 2.06 times the state."""


class ArenaPlan(Frozen):
    """Bytes of one slot, a multiple of the page size, and the place of both: "memory" or "file"."""

    slot_bytes: int
    backing: str

    @property
    def size_bytes(self) -> int:
        return SLOTS * self.slot_bytes


def plan_arena(snapshot_bytes: int, available_bytes: int, limit_bytes: int) -> ArenaPlan:
    """How large an arena to make, and where.

    In memory when it takes at most half of what is free, or `limit_bytes` if the user gave one:
    memory that training would have to fight for is worse than slower snapshots.
    """
    spare_bytes = max(_SPARE_BYTES, snapshot_bytes // _SPARE_SHARE)
    pages = -(-(HEAD_BYTES + snapshot_bytes + spare_bytes) // mmap.PAGESIZE)
    slot_bytes = pages * mmap.PAGESIZE
    allowed_bytes = limit_bytes or available_bytes // 2
    backing = "memory" if slot_bytes * SLOTS <= allowed_bytes else "file"
    return ArenaPlan(slot_bytes, backing)


def choose_slot(sequences: Sequence[int], pinned: int) -> int | None:
    """The slot for a snapshot: not the newest, nor the `pinned` one (0: none); None to wait."""
    newest = max(sequences)
    free = [
        index
        for index, number in enumerate(sequences)
        if number == 0 or number not in (newest, pinned)
    ]
    return free[0] if free else None


class Arena:
    """An arena mapped for writing; owned by the trainer."""

    def __init__(self, plan: ArenaPlan, folder: Path) -> None:
        """Reserves the space, in `folder` for a file; `OSError` where it cannot be had."""
        self.plan = plan
        self.fd = nameless_file(folder) if plan.backing == "file" else os.memfd_create("pitstop")
        try:
            os.ftruncate(self.fd, plan.size_bytes)
            if plan.backing == "file":
                os.posix_fallocate(self.fd, 0, plan.size_bytes)
            self._map = mmap.mmap(self.fd, plan.size_bytes)
        except OSError:
            os.close(self.fd)
            raise
        self._sequences = [0] * SLOTS

    def prefault(self, is_awaited: Callable[[], bool]) -> None:
        """Touches every page once, so that no snapshot pays for page faults.

        Ends early when a snapshot `is_awaited`.  A file is left alone: its pages would be written.
        """
        if self.plan.backing == "file":
            return
        import numpy as np

        pages = np.frombuffer(self._map, np.uint8)
        for start in range(0, len(pages), _PREFAULT_BYTES):
            if is_awaited():
                return
            pages[start : start + _PREFAULT_BYTES] = 0

    def release_older(self) -> None:
        """Gives back the memory of what is not the newest whole snapshot."""
        newest = max(self._sequences)
        for index, sequence in enumerate(self._sequences):
            if sequence != newest:
                start = index * self.plan.slot_bytes
                # A reader of it sees that its head is gone, and takes the newest.  A file
                # system that cannot make holes in a file keeps it until it is overwritten.
                with contextlib.suppress(OSError):
                    self._map.madvise(mmap.MADV_REMOVE, start, self.plan.slot_bytes)
                self._sequences[index] = 0

    def fits(self, snapshot_bytes: int) -> bool:
        return HEAD_BYTES + snapshot_bytes <= self.plan.slot_bytes

    def choose_slot(self, pinned: int) -> int | None:
        return choose_slot(self._sequences, pinned)

    @contextlib.contextmanager
    def slot(self, index: int, sequence: int) -> Iterator[memoryview]:
        """A slot, for `write_slot` to fill with this snapshot while it is open."""
        start = index * self.plan.slot_bytes
        self._sequences[index] = 0
        with memoryview(self._map) as view, view[start : start + self.plan.slot_bytes] as part:
            yield part
        self._sequences[index] = sequence

    def close(self) -> None:
        self._map.close()
        os.close(self.fd)


def newest_slot(fd: int) -> tuple[int, SlotHead] | None:
    """Offset and head of the newest whole snapshot in an arena's file."""
    slot_bytes = os.fstat(fd).st_size // SLOTS
    heads = [(at, read_head(fd, at)) for at in range(0, SLOTS * slot_bytes, slot_bytes)]
    whole = [(at, head) for at, head in heads if head is not None]
    return max(whole, key=lambda pair: pair[1].sequence, default=None)


def nameless_file(folder: Path) -> int:
    """A file on the disk of a folder that vanishes with its last descriptor; or `OSError`."""
    fd, path = tempfile.mkstemp(prefix=".arena-", dir=folder)
    Path(path).unlink()
    return fd
