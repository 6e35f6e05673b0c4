"""The vocabulary of a run: everything that happens, as frozen values.

The trainer, the supervisor, the persister, the journal, the diagnosis and the
reports all speak in these types.  Field names carry their units; times are
seconds since the epoch, stamped by the journal when the event is written.

This module is imported inside the trainer: standard library only.
"""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field
from typing import Any, ClassVar

JsonValue = Any
"""A value that `json` can carry: None, bool, int, float, str, list, dict."""


@dataclass(frozen=True)
class Event:
    """Base of all events; `kind` is the class name in snake case."""

    kind: ClassVar[str] = "event"

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        cls.kind = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        _KINDS[cls.kind] = cls


_KINDS: dict[str, type[Event]] = {}


# -- the run and its attempts (written by the supervisor) ---------------------


@dataclass(frozen=True)
class AttemptStarted(Event):
    """The supervisor started the user's command for the n-th time."""

    attempt: int
    command: list[str]
    supervisor_pid: int
    trainer_pid: int
    host: str
    environment: dict[str, JsonValue] = field(default_factory=dict)
    cgroup: str = ""


@dataclass(frozen=True)
class ResumeChosen(Event):
    """The checkpoint this attempt starts from; none is chosen on a fresh start."""

    step: int
    epoch: int
    checkpoint: str
    level: str


@dataclass(frozen=True)
class EnvironmentChanged(Event):
    """Something differs from the attempt that wrote the checkpoint."""

    what: str
    before: str
    now: str
    changes_bits: bool


@dataclass(frozen=True)
class StopRequested(Event):
    """Somebody asked the run to stop.

    source: "signal", "command" (pitstop stop), "file" (RUN/stop), "script"
        (pitstop.request_stop), "condition" (--stop-when), "time_limit", "setting"
        (a step that the run was told to stop at), or "supervisor_lost".
    urgency: "graceful" (finish the step) or "now" (last snapshot).
    reason: in the words of who asked; of a time limit, what was left of it.
    """

    source: str
    urgency: str
    signal: str = ""
    sender_pid: int | None = None
    sender_uid: int | None = None
    sender_command: str = ""
    from_terminal: bool = False
    reason: str = ""


@dataclass(frozen=True)
class StopDeadlinePassed(Event):
    """The trainer did not reach a step boundary in time and is ended."""

    waited_seconds: float
    phase: str
    reason: str


@dataclass(frozen=True)
class TrainerExited(Event):
    """How the trainer's process ended, and what the machine says about it.

    exit_code: the code it returned, None when a signal ended it.
    signal: name of that signal ("SIGKILL"), empty otherwise.
    oom_kills: processes that the kernel killed for memory in the trainer's
        memory cgroup during the attempt; None when it cannot be observed.
    kernel_lines: kernel log lines since the start that name the trainer's
        process or its cgroup; None when the log cannot be read.
    missing: what could not be observed, one phrase each.
    """

    exit_code: int | None
    signal: str
    step: int
    epoch: int
    step_in_epoch: int
    phase: str
    seconds_since_boundary: float | None
    max_rss_bytes: int | None = None
    cpu_seconds: float | None = None
    oom_kills: int | None = None
    memory_limit_bytes: int | None = None
    kernel_lines: list[str] | None = None
    limits: dict[str, JsonValue] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class AttemptEnded(Event):
    """The end of an attempt.  state: "completed", "stopped" or "failed"."""

    attempt: int
    state: str
    exit_code: int
    step: int
    checkpoint_step: int | None


@dataclass(frozen=True)
class Notice(Event):
    """Something the user should know; training goes on."""

    code: str
    message: str
    remedy: str = ""


# -- checkpoints (written by the persister, through the supervisor) -----------


@dataclass(frozen=True)
class CheckpointCommitted(Event):
    """A checkpoint is durable: its manifest and folder are on disk.

    reason: "cadence", "stop", "requested", "fit_end", "trainer_lost",
        "supervisor_lost".
    """

    step: int
    epoch: int
    path: str
    size_bytes: int
    seconds: float
    reason: str


@dataclass(frozen=True)
class CheckpointFailed(Event):
    """A checkpoint could not be written; the ones before it are intact."""

    step: int
    error: str
    remedy: str


@dataclass(frozen=True)
class CheckpointQuarantined(Event):
    """A damaged checkpoint was set aside; the one before it is used."""

    path: str
    reason: str


# -- the training (reported by the trainer) -----------------------------------


@dataclass(frozen=True)
class TrainerConnected(Event):
    """The instrumented process reported for the first time."""

    pid: int
    python: str
    argv: list[str]
    versions: dict[str, str]


@dataclass(frozen=True)
class InstrumentationUnavailable(Event):
    """Snapshots and exact resume are off for this process, and why."""

    reason: str
    remedy: str = ""


LOOPS = ("custom loop", "recorded loop")


@dataclass(frozen=True)
class FitStarted(Event):
    """`model.fit` began: the fit-th of the process, counted from 0.

    steps_per_epoch: None when the input does not know its length.
    data: what is known of the input (adapter, batch size, shapes, digest); of a
        loop of the script's own, its `adapter` is one of `LOOPS`.
    """

    fit: int
    epochs: int
    steps_per_epoch: int | None
    data: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class LevelKnown(Event):
    """How exact a resume of this run is: "exact", "exact_by_replay", "not_exact"."""

    level: str
    reason: str = ""
    unverified: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Restored(Event):
    """The trainer continues from saved state.

    step: first training step (counted over the whole run) it will execute.
    lost_steps: steps executed by an earlier attempt that are executed again.
    """

    step: int
    epoch: int
    step_in_epoch: int
    level: str
    reason: str
    seconds: float
    lost_steps: int


@dataclass(frozen=True)
class FitRestored(Event):
    """A `fit` that an earlier attempt finished was not run again."""

    fit: int
    step: int
    epochs_run: int
    seconds: float


@dataclass(frozen=True)
class EpochEnded(Event):
    """An epoch ended.

    steps: steps executed; expected_steps: None when unknown.
    """

    fit: int
    epoch: int
    steps: int
    expected_steps: int | None
    logs: dict[str, float]


@dataclass(frozen=True)
class InputExhausted(Event):
    """The input ended before `steps_per_epoch` steps."""

    fit: int
    epoch: int
    steps: int
    expected_steps: int


@dataclass(frozen=True)
class NonFiniteLoss(Event):
    """The first step whose loss is NaN or infinite."""

    step: int
    epoch: int
    step_in_epoch: int
    metric: str
    value: str
    last_finite: float | None


@dataclass(frozen=True)
class StopTrainingSet(Event):
    """`model.stop_training` became true, and who set it.

    callback: class name, empty when no callback is on the stack.
    watched: what the callback monitors (monitor, patience, best, ...).
    """

    step: int
    epoch: int
    callback: str
    file: str
    line: int
    function: str
    watched: dict[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True)
class ExceptionRaised(Event):
    """An exception left the script uncaught.

    file, line, function: the innermost frame of the user's own code.
    callback: class name of the callback it was raised in, or empty.
    notes: class names of the exception's bases, outermost last.
    """

    class_name: str
    message: str
    file: str
    line: int
    function: str
    callback: str
    phase: str
    traceback: str
    bases: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class FitEnded(Event):
    """`model.fit` returned."""

    fit: int
    step: int
    epochs_run: int
    epochs: int


@dataclass(frozen=True)
class TrainerStopped(Event):
    """The trainer obeyed a stop request at a boundary.

    phase: where it stopped ("train", "validation", "predict", "between_fits").
    step: steps completed; all of them are in the snapshot that was taken.
    """

    step: int
    epoch: int
    step_in_epoch: int
    phase: str


@dataclass(frozen=True)
class ScriptEnded(Event):
    """The interpreter reached its normal exit (`atexit` ran)."""

    step: int


@dataclass(frozen=True)
class UnknownEvent(Event):
    """An event of a kind this version does not know (a newer writer)."""

    original_kind: str
    fields: dict[str, JsonValue]


# -- JSON form -----------------------------------------------------------------


def to_record(event: Event) -> dict[str, JsonValue]:
    """The event as a JSON object whose first key is `kind`."""
    if isinstance(event, UnknownEvent):
        return {"kind": event.original_kind, **event.fields}
    return {"kind": event.kind, **dataclasses.asdict(event)}


def from_record(record: dict[str, JsonValue]) -> Event:
    """The event that `to_record` made; unknown kinds and fields survive.

    Fields that this version does not know are dropped from known kinds, and a
    known kind that lacks a required field becomes an `UnknownEvent`: a reader
    never fails on a record that was written whole.
    """
    fields = {key: value for key, value in record.items() if key != "kind"}
    cls = _KINDS.get(str(record.get("kind", "")))
    if cls is None:
        return UnknownEvent(str(record.get("kind", "")), fields)
    known = {f.name for f in dataclasses.fields(cls)}
    try:
        return cls(**{key: value for key, value in fields.items() if key in known})
    except TypeError:
        return UnknownEvent(cls.kind, fields)
