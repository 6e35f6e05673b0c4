"""A saved state as the trainer sees it; and the last epoch's, so that more epochs can follow."""

import functools
import json
import mmap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from pitstop.engine.snapshots.state_capture import HeldTensor, Position, StateCapture
from pitstop.engine.values.python_state import decode
from pitstop.events import Notice
from pitstop.link.wire import close_all
from pitstop.record import Frozen

NOT_KEPT = Notice(
    "last_epoch_not_kept",
    "The end of the last epoch of this training was not saved: it starts from its beginning.",
)

_PREFIX = "last_epoch/"


class SavedState(Frozen):
    """A restore point; the bytes of each tensor are valid while this object lives."""

    state: dict[str, Any]
    tensors: Mapping[str, memoryview]

    @property
    def position(self) -> Position:
        return Position(**self.state["position"])

    @property
    def appended(self) -> dict[str, int]:
        """Sizes in bytes of the files that the script appends to."""
        return {str(path): int(size) for path, size in self.state.get("appended", {}).items()}

    @property
    def rewritten(self) -> dict[str, bytes]:
        """The content of small files that the script writes while it trains."""
        found = decode(self.state.get("rewritten", {}), self.tensors)
        return {path: content for path, content in found.items() if isinstance(content, bytes)}

    @property
    def outputs(self) -> dict[str, bytes]:
        """The content of the files that a finished training had written."""
        found = decode(self.state.get("outputs", {}), self.tensors)
        return {path: each.tobytes() for path, each in found.items()}


def beside(outcome: StateCapture, last: StateCapture | None) -> StateCapture:
    if last is None:
        return outcome
    members = {
        name: value for name, value in last.state.items() if outcome.state.get(name) != value
    }
    same = {tensor.spec.name: tensor for tensor in outcome.tensors}
    others = tuple(
        replace(each, spec=replace(each.spec, name=_PREFIX + each.spec.name))
        for each in last.tensors
        if not _is_same(each, same.get(each.spec.name))
    )
    state = {**outcome.state, "last_epoch": members}
    return replace(outcome, tensors=(*outcome.tensors, *others), state=state)


def to_go_on_from(saved: SavedState) -> SavedState | None:
    """A finished training at the end of its last epoch; None where that was not kept.

    One that had stopped by itself (`stop_training`) stays as it ended: it would
    have done so with more epochs too.
    """
    fit = saved.state["fit"]
    if fit["stop_training"] and not fit.get("raised"):
        return saved
    members = saved.state.get("last_epoch")
    if not isinstance(members, dict):
        return None
    # Its own tensors, and those that the outcome has too.
    names = {name: name for name in saved.tensors}
    own = {name.removeprefix(_PREFIX): name for name in names if name.startswith(_PREFIX)}
    tensors = _TensorsByName(names | own, saved.tensors.__getitem__)
    return SavedState({**saved.state, **members}, tensors)


def _is_same(one: HeldTensor, other: HeldTensor | None) -> bool:
    if other is None or one.spec != other.spec:
        return False
    first, second = (np.frombuffer(each.read(), np.uint8) for each in (one, other))
    # Mostly one buffer, which both hold.
    return first.ctypes.data == second.ctypes.data or np.array_equal(first, second)


class _TensorsByName(Mapping[str, memoryview]):
    """Tensors that are read from their places when they are asked for."""

    def __init__(self, places: Mapping[str, Any], read: Callable[[Any], memoryview]) -> None:
        self._places, self._read = places, read

    def __getitem__(self, name: str) -> memoryview:
        return self._read(self._places[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def open_saved_state(fds: Sequence[int]) -> SavedState:
    """Maps a restore image, see `snapshot.loading`; its descriptors are closed, the mappings stay.

    Raises `ValueError` where its table is not whole.
    """
    try:
        table, *files = [memoryview(mmap.mmap(fd, 0, access=mmap.ACCESS_READ)) for fd in fds]
    finally:
        close_all(fds)
    ranges, state = map(json.loads, bytes(table).split(b"\n", 1))
    return SavedState(state, _TensorsByName(ranges, functools.partial(_joined, files)))


def _joined(files: Sequence[memoryview], ranges: Iterable[tuple[int, int, int]]) -> memoryview:
    parts = [files[file][offset : offset + size] for file, offset, size in ranges]
    return parts[0] if len(parts) == 1 else memoryview(b"".join(parts))
