"""A saved state as the trainer sees it: arrays by name, and the JSON beside them."""

from __future__ import annotations

import json
import mmap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pitstop.engine.state_capture import Position
from pitstop.link.wire import close_all


@dataclass(frozen=True)
class SavedState:
    """A restore point; the bytes of each tensor are valid while this object lives."""

    state: dict[str, Any]
    tensors: Mapping[str, memoryview]

    @property
    def position(self) -> Position:
        return Position(**self.state["position"])


class MappedTensors(Mapping[str, memoryview]):
    """The tensors of mapped files, each put together when it is asked for."""

    def __init__(
        self, ranges: Mapping[str, Sequence[tuple[int, int, int]]], files: Sequence[memoryview]
    ) -> None:
        self._ranges = ranges
        self._files = files

    def __getitem__(self, name: str) -> memoryview:
        """The bytes of a tensor: no copy where they lie together in one file."""
        parts = [
            self._files[file][offset_bytes : offset_bytes + size_bytes]
            for file, offset_bytes, size_bytes in self._ranges[name]
        ]
        return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))

    def __iter__(self) -> Iterator[str]:
        return iter(self._ranges)

    def __len__(self) -> int:
        return len(self._ranges)


def open_saved_state(fds: Sequence[int]) -> SavedState:
    """Maps a restore image, see `snapshot.loading`; its descriptors are closed, the mappings stay.

    Raises `ValueError` where its table is not whole.
    """
    try:
        table, *files = [memoryview(mmap.mmap(fd, 0, access=mmap.ACCESS_READ)) for fd in fds]
    finally:
        close_all(fds)
    ranges, state = map(json.loads, bytes(table).split(b"\n", 1))
    return SavedState(state, MappedTensors(ranges, files))
