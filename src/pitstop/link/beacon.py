"""One page of shared memory: where the trainer is, and what is asked of it.

The trainer writes its position at every step boundary with one copy of some bytes, and reads the
stop word.  The page outlives it.  Each field has one writer, but for the stop word.  Readers may
see a position that is one field ahead of another; only display and the stop deadline use it.
"""

from __future__ import annotations

import enum
import mmap
import os
import struct
from collections.abc import Callable

from pitstop.record import Frozen

SIZE_BYTES = 4096
_MAGIC = 0x504F545354495031  # "1PITSTOP", little endian
_VERSION = 2

_HEADER = struct.Struct("<QQ")
_POSITION = struct.Struct("<QQQqd")  # step, epoch, step_in_epoch, boundary_ns, loss
_PLAN = struct.Struct("<QQQ")  # fit, epochs, steps_per_epoch
_REPLAY = struct.Struct("<QQQ")  # step, batches drawn again, batches to draw again
_WORD = struct.Struct("<Q")
_SIGNED = struct.Struct("<q")
_REAL = struct.Struct("<d")
_NAME = struct.Struct("64s")

_AT_POSITION = 64
_AT_PHASE = 128
_AT_PLAN = 136
_AT_STEP_SECONDS = 176
_AT_SNAPSHOT_STEP = 184
_AT_REPLAY = 192
_AT_PULSES = 216
_AT_STOP = 256
_AT_CHECKPOINT_REQUESTS = 264
_AT_PINNED = 320
_AT_SETTLED = 328
_AT_CHECKPOINT_NAME = 384
_AT_TRAININGS = 448
_AT_HOLD_AT = 512
_AT_SNAPSHOT_AT = 520
_AT_ENTERING = 528
_AT_HELD = 536
_AT_STACK_REQUESTS = 544

NEVER = (1 << 63) - 1  # no step

MOST_NAME_BYTES = _NAME.size  # the longest name of a checkpoint that fits the page, in UTF-8


class Phase(enum.IntEnum):
    """What the trainer is doing; the value is the on-page code."""

    STARTING = 0
    FIRST_STEP = 1
    TRAIN = 2
    VALIDATION = 3
    PREDICT = 4
    BETWEEN_FITS = 5
    RESTORING = 6
    SAVING = 7
    ENDED = 8
    WAITING = 9


_PHASES = frozenset(Phase)


class Stop(enum.IntEnum):
    NONE = 0
    GRACEFUL = 1
    NOW = 2


class Progress(Frozen):
    """The trainer's position as last written; its fields are in the order of `Beacon.progress`."""

    step: int  # steps completed over the whole run; `step_in_epoch` in the current epoch
    epoch: int
    step_in_epoch: int
    boundary_ns: int  # CLOCK_MONOTONIC of the last boundary; 0 before the first
    loss: float  # the loss reported at that boundary, NaN when none is known
    phase: Phase
    fit: int
    epochs: int
    steps_per_epoch: int  # 0 when the input does not know its length
    step_seconds: float  # smoothed time between boundaries, 0 before the second
    snapshot_step: int  # step of the newest complete snapshot, -1 when none
    replay_step: int = 0  # step whose place in the input is being found, while RESTORING
    replayed_batches: int = 0
    batches_to_replay: int = 0  # how many there are to draw again, 0 for none
    pulses: int = 0  # batches seen outside of the training's own steps


def _read(at: int, form: struct.Struct = _WORD) -> Callable[[Beacon], int]:
    return lambda beacon: int(form.unpack_from(beacon.page, at)[0])


def _write(at: int, form: struct.Struct = _WORD) -> Callable[[Beacon, float], None]:
    return lambda beacon, value: beacon.put(at, form, value)


class Beacon:
    def __init__(self, fd: int) -> None:
        """Maps the page behind `fd`, ours from now on; `ValueError` where it is no beacon."""
        self.fd = fd
        self.page = mmap.mmap(fd, SIZE_BYTES)
        if _HEADER.unpack_from(self.page, 0) != (_MAGIC, _VERSION):
            raise ValueError("not a beacon of this version")

    @classmethod
    def create(cls) -> Beacon:
        fd = os.memfd_create("pitstop-beacon")
        os.ftruncate(fd, SIZE_BYTES)
        with mmap.mmap(fd, SIZE_BYTES) as page:
            _HEADER.pack_into(page, 0, _MAGIC, _VERSION)
            _POSITION.pack_into(page, _AT_POSITION, 0, 0, 0, 0, float("nan"))
            _SIGNED.pack_into(page, _AT_SNAPSHOT_STEP, -1)
            _SIGNED.pack_into(page, _AT_HELD, -1)
            for at in (_AT_HOLD_AT, _AT_SNAPSHOT_AT):
                _SIGNED.pack_into(page, at, NEVER)
        return cls(fd)

    def close(self) -> None:
        """Closes the descriptor; the page stays mapped as long as this object is there."""
        os.close(self.fd)

    # -- the trainer's side --

    trainings = _read(_AT_TRAININGS)
    write_phase = _write(_AT_PHASE)
    write_step_seconds = _write(_AT_STEP_SECONDS, _REAL)
    write_snapshot_step = _write(_AT_SNAPSHOT_STEP, _SIGNED)
    enter = _write(_AT_ENTERING, _SIGNED)
    """Publishes the number of the step that is entered next, before it looks at `hold_step`."""
    hold = _write(_AT_HELD, _SIGNED)
    """Publishes that it waits at the end of this step, see `hold_step`."""

    def write_position(
        self, step: int, epoch: int, step_in_epoch: int, boundary_ns: int, loss: float
    ) -> None:
        self.put(_AT_POSITION, _POSITION, step, epoch, step_in_epoch, boundary_ns, loss)

    def write_plan(self, fit: int, epochs: int, steps_per_epoch: int) -> None:
        self.put(_AT_PLAN, _PLAN, fit, epochs, steps_per_epoch)

    def take_training(self, at_least: int = 0) -> int:
        """The number of a training that begins, from 0 over all processes of the attempt."""
        count = max(self.trainings(), at_least)
        self.put(_AT_TRAININGS, _WORD, count + 1)
        return count

    def take_checkpoint_name(self) -> str:
        """The name for the checkpoint that was asked for, or empty; forgotten from then on."""
        (name,) = _NAME.unpack_from(self.page, _AT_CHECKPOINT_NAME)
        self.put(_AT_CHECKPOINT_NAME, _NAME, b"")
        return bytes(name).rstrip(b"\0").decode(errors="replace")

    def write_replay(self, step: int, batches: int, total: int) -> None:
        self.put(_AT_REPLAY, _REPLAY, step, batches, total)

    def pulse(self) -> None:
        """Tells that something goes on outside of the training's steps: a batch of validation."""
        (count,) = _WORD.unpack_from(self.page, _AT_PULSES)
        self.put(_AT_PULSES, _WORD, count + 1)

    # -- the supervisor's side --

    hold_from = _write(_AT_HOLD_AT, _SIGNED)
    """Asks the trainer to wait at the end of this step, or of the first after it."""
    snapshot_at = _write(_AT_SNAPSHOT_AT, _SIGNED)
    """Asks the trainer for a durable checkpoint at the end of this step, and of no other."""

    def request_stacks(self) -> None:
        """Asks the trainer to append the stacks of its threads to the attempt's file."""
        self.put(_AT_STACK_REQUESTS, _WORD, self.stack_requests() + 1)

    def request_stop(self, stop: Stop) -> None:
        if stop > self.stop():
            self.put(_AT_STOP, _WORD, stop)

    def request_checkpoint(self, name: str = "") -> None:
        """Asks for a checkpoint at the next boundary; without a name, an earlier name remains."""
        if name:
            self.put(_AT_CHECKPOINT_NAME, _NAME, name.encode())
        self.put(_AT_CHECKPOINT_REQUESTS, _WORD, self.checkpoint_requests() + 1)

    # -- the persister's side --

    pin = _write(_AT_PINNED)
    """Asks the trainer not to overwrite the snapshot with this number; 0 unpins."""
    settle = _write(_AT_SETTLED)
    """Tells that all snapshots up to this number are durable, or were refused."""

    def put(self, at: int, form: struct.Struct, *values: object) -> None:
        # Not `pack_into`: it writes zeros first, which a reader may see, and which stay where
        # the writer is killed there.
        self.page[at : at + form.size] = form.pack(*values)

    # -- reading --

    stop = _read(_AT_STOP)
    checkpoint_requests = _read(_AT_CHECKPOINT_REQUESTS)
    stack_requests = _read(_AT_STACK_REQUESTS)
    pinned = _read(_AT_PINNED)
    settled = _read(_AT_SETTLED)
    """Number of the newest snapshot the persister is done with, 0 for none."""
    hold_step = _read(_AT_HOLD_AT, _SIGNED)  # where the trainer is to wait; `NEVER` where it is not
    snapshot_order = _read(_AT_SNAPSHOT_AT, _SIGNED)
    """At the end of which step a checkpoint is asked for; `NEVER` where none is."""
    entering = _read(_AT_ENTERING, _SIGNED)
    """The step that the trainer has entered, or is about to; 0 before the first."""
    held = _read(_AT_HELD, _SIGNED)
    """The end of the step where the trainer waits, or has waited last; -1 for none."""

    def phase(self) -> Phase:
        """What the trainer is doing; Pitstop itself writes only the values of `Phase`."""
        word = _WORD.unpack_from(self.page, _AT_PHASE)[0]
        return Phase(word) if word in _PHASES else Phase.STARTING

    def progress(self) -> Progress:
        fields = (
            *_POSITION.unpack_from(self.page, _AT_POSITION),
            self.phase(),
            *_PLAN.unpack_from(self.page, _AT_PLAN),
            *_REAL.unpack_from(self.page, _AT_STEP_SECONDS),
            *_SIGNED.unpack_from(self.page, _AT_SNAPSHOT_STEP),
            *_REPLAY.unpack_from(self.page, _AT_REPLAY),
            *_WORD.unpack_from(self.page, _AT_PULSES),
        )
        return Progress(*fields)
