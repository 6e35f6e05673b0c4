"""Copies cuts into the arena, beside the running step or before it; and waits for the disk."""

import contextlib
import errno
import json
import os
import queue
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from pitstop.engine.fence import observing
from pitstop.engine.snapshots.state_capture import HeldTensor, Position, StateCapture
from pitstop.events import CheckpointFailed, InstrumentationUnavailable, Notice
from pitstop.link.beacon import Beacon
from pitstop.link.messages import SnapshotReport
from pitstop.record import Frozen
from pitstop.snapshot.arena import Arena, ArenaPlan, DeviceBytes, write_slot
from pitstop.store.image import Image, plan_image

LARGE_BYTES = 64 << 20
BESIDE_SHARE = 0.7
"""Values are released as they are copied, so that a copy which reaches a little into the updates
costs little.  Measured at 0.5 (0.8 GB, steps of 0.2 s, Adam on two cores): beside, a snapshot
keeps the trainer for 3 ms and costs less in all than before the step, where it keeps it for 48."""

_FRESH_BYTES_PER_SECOND = 1e9
_AWAKENING_SECONDS = 0.005
"""Of the copier's thread: measured 1 to 5 ms for a state of 9 kB."""
_PIN_POLL_SECONDS = 0.002
_PATIENCE_SECONDS = 120.0  # the longest wait for a disk that does not take a snapshot
_COPY_THREADS = min(4, os.cpu_count() or 1)
"""More threads than this do not copy faster: memory is the limit."""


class _Job(Frozen):
    """A cut to copy; TensorFlow does not copy values that are released before their update."""

    position: Position
    state: dict[str, Any]
    tensors: list[HeldTensor]
    reason: str
    durable: bool
    threads: int = 1


@dataclass(eq=False)
class Copier:
    """Owns the arena and the thread that fills it; at most one copy at a time.

    The thread changes the arena and calls the callbacks only while `_idle` is clear; everybody
    else waits for it first.  The callbacks of a copy in the background run in the thread.
    """

    _beacon: Beacon
    _make_arena: Callable[[int], Arena]  # for a snapshot of so many bytes
    _on_arena: Callable[[Arena], None]
    _on_copied: Callable[[SnapshotReport], None]
    _on_failed: Callable[[Exception], None]

    def __post_init__(self) -> None:
        # what the last copy would have taken one thread, 0 before the first
        self.copy_seconds = 0.0
        self.room_refused = False  # neither memory nor disk had room for an arena when last asked
        self.awaited = False
        self._patience_seconds = _PATIENCE_SECONDS
        self._arena: Arena | None = None
        # A later process of the same attempt goes on with larger numbers.
        self._sequence = time.monotonic_ns()
        self._jobs: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None

    @property
    def is_idle(self) -> bool:
        return self._idle.is_set()

    @property
    def ready(self) -> bool:
        if not self.is_idle:
            return False
        return self._arena is None or self._arena.choose_slot(self._beacon.pinned()) is not None

    def wait(self) -> None:
        with self._standing_still():
            self._idle.wait()

    def close(self) -> None:
        self.wait()
        if self._thread is not None:
            self._begin(sys.exit)
        self.wait()
        if self._arena is not None:
            self._arena.close()
            self._arena = None

    def submit(self, cut: StateCapture, reason: str, *, durable: bool) -> None:
        job = _Job(cut.position, cut.state, list(cut.tensors), reason, durable)
        self._begin(lambda: self._copy(job))

    def makes_room(self, snapshot_bytes: int) -> bool:
        has_room = self._arena is not None and self._arena.fits(snapshot_bytes)
        if has_room or self.room_refused:
            return False
        self._begin(lambda: self._make_room(snapshot_bytes))
        return True

    def _begin(self, job: Callable[[], object]) -> None:
        self.wait()
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="pitstop-copier", daemon=True)
            self._thread.start()
        self._idle.clear()
        self._jobs.put(job)

    def copy_now(self, cut: StateCapture, reason: str, *, durable: bool) -> int:
        """Copies a cut while the caller waits; the snapshot's number, 0 where there is none."""
        with self._standing_still():
            self._idle.wait()
            job = _Job(cut.position, cut.state, list(cut.tensors), reason, durable, _COPY_THREADS)
            return self._copy(job)

    @contextlib.contextmanager
    def _standing_still(self) -> Iterator[None]:
        self.awaited = True
        try:
            yield
        finally:
            self.awaited = False

    @observing(spoils=True)
    def _serve(self) -> None:
        try:
            while True:
                job = self._jobs.get()
                job()
                del job  # The held values are released before they slow the next step.
                self._idle.set()
        finally:
            # For any exception: training does not wait for this thread, and the
            # next cut gets another one.
            self._thread = None
            self._idle.set()

    def _copy(self, job: _Job) -> int:
        try:
            copied = self._fill(job)
        except Exception as error:  # noqa: BLE001 - ours: no code of the user's runs in a copy
            self._on_failed(error)
            return 0
        self._beacon.write_snapshot_step(job.position.step)
        self._on_copied(copied)
        return copied.sequence

    def _make_room(self, snapshot_bytes: int) -> None:
        try:
            self._arena_for(snapshot_bytes)
        except Exception as error:  # noqa: BLE001 - as above
            self.room_refused = True
            self._on_failed(error)

    def _fill(self, job: _Job) -> SnapshotReport:
        state = json.dumps(job.state, separators=(",", ":")).encode()
        image = plan_image([tensor.spec for tensor in job.tensors])
        arena = self._arena_for(image.size_bytes + len(state))
        index = self._free_slot(arena)
        self._sequence += 1
        # The time of making the arena is left out: it is paid once.
        started = time.monotonic()
        where, tensors = job.position, _in_order(job.tensors, image)
        with arena.slot(index, self._sequence) as slot:
            write_slot(slot, self._sequence, where.step, image, tensors, state, job.threads)
        self.copy_seconds = (time.monotonic() - started) * job.threads
        return SnapshotReport(self._sequence, where.step, where.epoch, job.reason, job.durable)

    def _free_slot(self, arena: Arena) -> int:
        give_up_at = time.monotonic() + self._patience_seconds
        while (index := arena.choose_slot(self._beacon.pinned())) is None:
            if time.monotonic() >= give_up_at:
                # From now on a cut is copied only into a free slot, until one is found.
                self._patience_seconds = 0.0
                raise TimeoutError(errno.ETIMEDOUT, "the one before is still being saved")
            time.sleep(_PIN_POLL_SECONDS)
        self._patience_seconds = _PATIENCE_SECONDS
        return index

    def _arena_for(self, snapshot_bytes: int) -> Arena:
        if self._arena is not None and self._arena.fits(snapshot_bytes):
            return self._arena
        if self._arena is not None:
            self._arena.release_older()
        arena = self._make_arena(snapshot_bytes)
        self.room_refused = False
        arena.prefault(lambda: self.awaited)
        self._on_arena(arena)
        if self._arena is not None:
            self._arena.close()
        self._arena = arena
        return arena


def is_copied_before(
    size_bytes: int, copy_seconds: float, step_seconds: float, room_bytes: int | None = None
) -> bool:
    """Whether the training waits for the copy of a state; times are 0 while they are not known.

    Where it is on a GPU, `room_bytes` decides: the old values need memory until they are copied,
    which must not be the memory of the step.

    Beside the next step, TensorFlow gives each variable that it updates a new buffer while the old
    one is held.  So the copy must be over before the updates, which come last in a step: else the
    page faults of the fresh memory cost several times the copy (0.8 GB: 90 to 650 ms against 40).
    Before the step, several threads copy at the speed of memory.
    """
    if room_bytes is not None:
        return size_bytes > room_bytes
    fits_beside = 0 < copy_seconds <= BESIDE_SHARE * step_seconds
    return size_bytes >= LARGE_BYTES and not fits_beside


def most_lost_beside(size_bytes: int, copy_seconds: float, step_seconds: float) -> float:
    """The most that a copy beside the steps can cost them, in seconds.

    A step waits at most as long as the copy takes, and for fresh memory where the copy reaches into
    its updates. Steps that lose more do so for other reasons: a slow step varies by more than a
    snapshot costs.
    """
    reaches_updates = copy_seconds > BESIDE_SHARE * step_seconds
    fresh_seconds = size_bytes / _FRESH_BYTES_PER_SECOND if reaches_updates else 0.0
    return _AWAKENING_SECONDS + copy_seconds + fresh_seconds


def _in_order(tensors: list[HeldTensor], image: Image) -> Iterator[memoryview | DeviceBytes]:
    held = {tensor.spec.name: tensor for tensor in tensors}
    tensors.clear()
    for place in image.placements:
        tensor = held.pop(place.spec.name)
        yield tensor.on_device or tensor.read()
        del tensor


_MOST_SECONDS = 120.0
_POLL_SECONDS = 0.002


class Durability:
    """Waits for the persister, but not for one that is gone or that cannot."""

    def __init__(self, beacon: Beacon, is_connected: Callable[[], bool]) -> None:
        self._beacon = beacon
        self._is_connected = is_connected
        self._sequence = 0
        self._until_seconds = 0.0

    @property
    def pending(self) -> bool:
        if not self._is_connected() or self._beacon.settled() >= self._sequence:
            return False
        return time.monotonic() < self._until_seconds

    def expect(self, sequence: int) -> None:
        self._sequence = sequence
        self._until_seconds = time.monotonic() + _MOST_SECONDS

    def wait(self, patient: Callable[[], bool], most_seconds: float = _MOST_SECONDS) -> None:
        give_up_at = time.monotonic() + most_seconds
        while self.pending and patient() and time.monotonic() < give_up_at:
            time.sleep(_POLL_SECONDS)


def memory_short(plan: ArenaPlan) -> Notice:
    return Notice(
        "snapshot_memory_short",
        f"Snapshots need {plan.size_bytes >> 20} MB of memory, which is not free; they use a file "
        "in the run folder instead, which is slower.",
        "Give the run more memory, or raise --snapshot-memory.",
    )


def short_trainings(begun: int) -> Notice:
    return Notice(
        "short_trainings",
        f"The script runs many short trainings: from training {begun} on, the end of a training "
        "is saved only when that is worth the time. A resume repeats the others.",
        "A loop in pitstop.start is saved as a whole, with the trainings in it.",
    )


def snapshot_failed(step: int, error: Exception) -> CheckpointFailed:
    words, remedy = repr(error), "The last checkpoint is still valid."
    if isinstance(error, OSError | MemoryError):
        words = getattr(error, "strerror", "memory is full") or words
        remedy = "Free memory or disk space; the last checkpoint is still valid."
    if getattr(error, "errno", 0) == errno.EFBIG:
        remedy = "Run `ulimit -f unlimited` before the run; the last checkpoint is still valid."
    if isinstance(error, TimeoutError):
        remedy = "Check that the disk responds; the last checkpoint is still valid."
    return CheckpointFailed(step, f"Could not take a snapshot: {words}.", remedy)


def pitstop_failed(error: Exception) -> InstrumentationUnavailable:
    if isinstance(error, MemoryError) or "start new thread" in str(error):
        return InstrumentationUnavailable(
            f"No memory or no thread is left for snapshots ({error!r}); training continues "
            "without further ones.",
            "Free memory, or raise the limits `ulimit -v` and `ulimit -u`.",
        )
    trace = "".join(traceback.format_exception(error)[-3:])
    return InstrumentationUnavailable(
        f"Pitstop failed ({error!r}); training continues, but without further snapshots.",
        f"Please report this as a bug of Pitstop: {trace}",
    )
