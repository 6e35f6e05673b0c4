"""The shared memory that snapshots are copied into: two slots in one file.

The file has no name: the kernel frees it when trainer and persister are gone.  Two slots, because
the newest whole snapshot must survive while the next one is written or the last one is read.
"""

from __future__ import annotations

import contextlib
import mmap
import os
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from pitstop.record import record
from pitstop.snapshot import slot
from pitstop.store.image import Image

SLOTS = 2
_PREFAULT_BYTES = 16 << 20
_SPARE_BYTES = 1 << 20
_SPARE_SHARE = 32
"""A slot is a 32nd larger than its first snapshot: two of them take 2.06 times the state."""


@record
class ArenaPlan:
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
    pages = -(-(slot.HEAD_BYTES + snapshot_bytes + spare_bytes) // mmap.PAGESIZE)
    slot_bytes = pages * mmap.PAGESIZE
    allowed_bytes = limit_bytes or available_bytes // 2
    backing = "memory" if slot_bytes * SLOTS <= allowed_bytes else "file"
    return ArenaPlan(slot_bytes, backing)


def choose_slot(sequences: Sequence[int], pinned: int) -> int | None:
    """Index of the slot the next snapshot may overwrite, None when it must wait.

    Neither the newest whole one nor the `pinned` one, that the persister reads; 0 stands for none.
    """
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

    def shed(self) -> None:
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
        return slot.HEAD_BYTES + snapshot_bytes <= self.plan.slot_bytes

    def choose_slot(self, pinned: int) -> int | None:
        return choose_slot(self._sequences, pinned)

    def write(
        self,
        index: int,
        sequence: int,
        step: int,
        image: Image,
        tensors: Iterable[memoryview],
        state: bytes,
        threads: int = 1,
    ) -> None:
        """Copies a snapshot into a slot; it is whole when this returns."""
        start = index * self.plan.slot_bytes
        self._sequences[index] = 0
        with memoryview(self._map) as view, view[start : start + self.plan.slot_bytes] as part:
            slot.write_slot(part, sequence, step, image, tensors, state, threads)
        self._sequences[index] = sequence

    def close(self) -> None:
        self._map.close()
        os.close(self.fd)


def newest_slot(fd: int) -> tuple[int, slot.SlotHead] | None:
    """Offset and head of the newest whole snapshot in an arena's file."""
    slot_bytes = os.fstat(fd).st_size // SLOTS
    heads = [(at, slot.read_head(fd, at)) for at in range(0, SLOTS * slot_bytes, slot_bytes)]
    whole = [(at, head) for at, head in heads if head is not None]
    return max(whole, key=lambda pair: pair[1].sequence, default=None)


def nameless_file(folder: Path) -> int:
    """A file on the disk of a folder that vanishes with its last descriptor; or `OSError`."""
    fd, path = tempfile.mkstemp(prefix=".arena-", dir=folder)
    Path(path).unlink()
    return fd
