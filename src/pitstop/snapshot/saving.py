"""From the newest whole slot of the arena to a committed checkpoint."""

import contextlib
import json
import os
import time
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from pitstop.errors import EnvironmentFault
from pitstop.events import CheckpointCommitted
from pitstop.link.beacon import Beacon, Stop
from pitstop.record import Frozen
from pitstop.snapshot import arena
from pitstop.snapshot.arena import newest_slot
from pitstop.store import increment
from pitstop.store.catalog import Catalog
from pitstop.store.digest import StreamHasher
from pitstop.store.image import (
    DTYPE_WIDTH_BYTES,
    LENGTH_BYTES,
    Image,
    Placement,
    header_size_bytes,
    parse_image,
)
from pitstop.store.manifest import CheckpointInfo
from pitstop.store.retention import RetentionPolicy
from pitstop.store.writer import CheckpointWriter, SnapshotSource, Stage

_MOST_NAMED = 20  # weights that are not finite; mostly it is all of them


class SnapshotOverwritten(Exception):
    """The trainer reused the slot while it was read; a newer snapshot is coming."""


class _Found(Frozen):
    fd: int
    offset_bytes: int
    head: arena.SlotHead

    def read_into(self, target: memoryview, offset_bytes: int) -> None:
        """Fills `target` from image and state; `SnapshotOverwritten` if it changes meanwhile."""
        arena.read_into(self.fd, target, self.offset_bytes + arena.HEAD_BYTES + offset_bytes)
        if arena.read_head(self.fd, self.offset_bytes) != self.head:
            raise SnapshotOverwritten

    def read(self, size_bytes: int, offset_bytes: int = 0) -> bytes:
        data = bytearray(size_bytes)
        self.read_into(memoryview(data), offset_bytes)
        return bytes(data)


@dataclass(eq=False)
class Pace:
    """Waits after each piece as long as the piece took, while nothing is urgent."""

    _urgent: Callable[[], bool]
    _clock: Callable[[], float] = time.monotonic
    _wait: Callable[[float], None] = time.sleep
    waited_seconds = 0.0

    def __post_init__(self) -> None:
        self._since_seconds = self._clock()

    def after_piece(self) -> None:
        took_seconds = self._clock() - self._since_seconds
        if not self._urgent():
            self._wait(took_seconds)
            self.waited_seconds += took_seconds
        self._since_seconds = self._clock()


class Saver:
    """Makes snapshots durable, each at most once."""

    def __init__(
        self,
        checkpoints_dir: Path,
        beacon: Beacon,
        attempt: int,
        retention: RetentionPolicy | None = None,
    ) -> None:
        self._checkpoints_dir = checkpoints_dir
        self._catalog = Catalog(checkpoints_dir)
        self._beacon = beacon
        self._attempt = attempt
        self._retention = retention or RetentionPolicy()
        self._increments = Increments()
        self._stage = Stage()
        self._arenas: list[int] = []
        self.saved_sequence = 0
        self.kept = ""

    def use_arena(self, fd: int) -> None:
        """Looks for snapshots in this arena too; an older one is closed later."""
        self._arenas.append(fd)

    def restored(self, ledger: increment.PreviousCheckpoint) -> None:
        self._increments.begin(ledger)

    def save_newest(self, reason: str) -> CheckpointCommitted | None:
        """Commits the newest whole snapshot if it is not durable; or `CheckpointWriteFailed`."""
        while (found := self._pin_newest()) is not None:
            try:
                return self._save(found, reason)
            except SnapshotOverwritten:
                continue
            finally:
                self._beacon.pin(0)
                self._beacon.settle(found.head.sequence)
        return None

    def _pin_newest(self) -> _Found | None:
        # The trainer may start to overwrite between our look and our pin; a
        # second look after the pin settles who came first.
        while (found := self._newest()) is not None and found.head.sequence > self.saved_sequence:
            self._beacon.pin(found.head.sequence)
            if self._newest() == found:
                return found
        self._beacon.pin(0)
        return None

    def _newest(self) -> _Found | None:
        found = [
            _Found(fd, *place) for fd in self._arenas if (place := newest_slot(fd)) is not None
        ]
        newest = max(found, key=lambda item: item.head.sequence, default=None)
        if newest is not None and newest.fd == self._arenas[-1]:
            for fd in self._arenas[:-1]:
                os.close(fd)
            del self._arenas[:-1]
        return newest

    def _save(self, found: _Found, reason: str) -> CheckpointCommitted:
        started = time.monotonic()
        state = found.read(found.head.state_bytes, found.head.image_bytes)
        described = json.loads(state)
        info = self._describe(described, reason)
        pace = Pace(lambda: reason != "cadence" or self._beacon.stop() != Stop.NONE)
        sequence = self._catalog.next_sequence()
        with CheckpointWriter(self._checkpoints_dir, sequence, stage=self._stage) as writer:
            variables = described.get("variables", [])
            paths = {each["tensor"]: each["path"] for each in variables if each.get("trainable")}
            image, bad = self._write_tensors(found, writer, pace, paths)
            info = replace(info, non_finite=bad)
            path, manifest = writer.commit(state, info)
        self._increments.committed(image, increment.ledger_of(path, manifest, writer.chunks))
        self.saved_sequence = found.head.sequence
        seconds = round(time.monotonic() - started - pace.waited_seconds, 4)
        with contextlib.suppress(EnvironmentFault):
            # The new checkpoint stands; old ones are pruned after the next.
            self._catalog.prune(self._retention, self.kept)
        size_bytes = sum(file.size_bytes for file in manifest.files.values())
        return CheckpointCommitted(
            info.step,
            info.epoch,
            path.name,
            size_bytes,
            seconds,
            reason,
            info.name,
            list(info.non_finite),
        )

    def _write_tensors(
        self, found: _Found, writer: CheckpointWriter, pace: Pace, weights: Mapping[str, str]
    ) -> tuple[Image, tuple[str, ...]]:
        """Writes them; the layout, and the first of the weights that are not finite."""
        image = parse_image(found.read(header_size_bytes(found.read(LENGTH_BYTES))))
        snapshot = FiniteSource(found, image, weights)
        plan, chunks = self._increments.plan(image, snapshot)
        if self._increments.ledger and not writer.link(self._increments.ledger, plan):
            self._increments.links = False
            plan = increment.plan_whole(image)
        writer.write_tensors(image, snapshot, plan, chunks, pace.after_piece)
        bad = [path for tensor, path in weights.items() if tensor in snapshot.bad]
        return image, tuple(bad[:_MOST_NAMED])

    def _describe(self, state: dict[str, Any], reason: str) -> CheckpointInfo:
        position = {name: each for name, each in state["position"].items() if name != "stage"}
        return CheckpointInfo(
            **position,
            attempt=self._attempt,
            reason=reason,
            level=state["level"]["level"],
            created_seconds=time.time(),
            versions=state["versions"],
            name=state.get("name", ""),
            metrics=state.get("metrics", {}),
            identity=state.get("identity", {}),
        )


_FORMS = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "BF16": "<u2"}
_BFLOAT_EXPONENT = 0x7F80


class FiniteSource:
    """Hands the bytes of a snapshot on; `bad`: tensors of which a value is NaN or infinite."""

    def __init__(self, source: SnapshotSource, image: Image, names: Collection[str]) -> None:
        self._source = source
        self._watched = [
            each
            for each in image.placements
            if each.spec.name in names and each.spec.dtype in _FORMS
        ]
        self.bad: set[str] = set()

    def read_into(self, target: memoryview, offset_bytes: int) -> None:
        self._source.read_into(target, offset_bytes)
        for place in self._watched:
            if place.spec.name not in self.bad and not _is_finite(target, offset_bytes, place):
                self.bad.add(place.spec.name)


def _is_finite(data: memoryview, offset_bytes: int, place: Placement) -> bool:
    """Of the part of a tensor in these bytes; both begin at multiples of a number's width."""
    width = DTYPE_WIDTH_BYTES[place.spec.dtype]
    start = max(place.offset_bytes - offset_bytes, 0)
    end = min(place.end_bytes - offset_bytes, len(data))
    if start >= end:
        return True
    part = data[start : end - (end - start) % width]
    numbers = np.frombuffer(part, _FORMS[place.spec.dtype])
    if place.spec.dtype == "BF16":
        return not bool((numbers & _BFLOAT_EXPONENT == _BFLOAT_EXPONENT).any())
    return bool(np.isfinite(numbers).all())


_WORTHWHILE_SHARE = 0.1
"""To compare first, a snapshot is read twice; that must save at least so much writing."""

_PIECE_BYTES = 8 << 20


class Increments:
    """Plans checkpoint after checkpoint of one run.

    Most trainings change every byte.  So a snapshot is compared before it is written only if the
    last one had enough in common with the one before.  Its checksums tell that at no cost.
    """

    def __init__(self) -> None:
        self.ledger: increment.PreviousCheckpoint | None = None
        self._compare = False
        self.links = True  # else every checkpoint is whole: the file system has no hard links
        self._buffer = memoryview(b"")

    def begin(self, ledger: increment.PreviousCheckpoint) -> None:
        self.ledger = ledger
        self._compare = len(ledger.files) > 1

    def plan(
        self, image: Image, snapshot: SnapshotSource
    ) -> tuple[increment.WritePlan, dict[str, bytes] | None]:
        """What to write of a snapshot, and its chunk digests if they are known already."""
        if self.ledger is None or not (self._compare and self.links):
            return increment.plan_whole(image), None
        chunks = self._chunks(image, snapshot)
        return increment.plan_increment(image, chunks, self.ledger), chunks

    def committed(self, image: Image, ledger: increment.PreviousCheckpoint) -> None:
        if self.ledger is not None:
            chunks = {name: held.chunks for name, held in ledger.tensors.items()}
            share = increment.unchanged_share(image, chunks, self.ledger)
            self._compare = share >= _WORTHWHILE_SHARE
        self.ledger = ledger

    def _chunks(self, image: Image, snapshot: SnapshotSource) -> dict[str, bytes]:
        hasher = StreamHasher((place.spec.name, place.size_bytes) for place in image.placements)
        self._buffer = self._buffer or memoryview(bytearray(_PIECE_BYTES))
        for start in range(len(image.header), image.size_bytes, _PIECE_BYTES):
            piece = self._buffer[: image.size_bytes - start]
            snapshot.read_into(piece, start)
            hasher.update(piece)
        hasher.update(memoryview(b""))
        return hasher.chunks
