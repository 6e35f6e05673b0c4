"""Standstills that the supervisor notices, and what it starts again."""

from __future__ import annotations

from dataclasses import field

from pitstop.events.base import Event
from pitstop.record import record


@record
class WorkerDied(Event):
    """A child of the trainer, started by `multiprocessing`, ended and nobody had asked it to.

    signal: name of the signal that ended it, empty where it returned `exit_code`.
    """

    pid: int
    signal: str = ""
    exit_code: int | None = None


@record
class TrainingStalled(Event):
    """The training makes no progress, for much longer than it ever took.

    seconds: since the last progress; suspended time is not counted.
    doing: "input", "step", "callback", "save", "restore", "script", "exit", "worker",
        "disk" or "stopped".
    place: the same in words, with file and line where they are known.
    action: "warn", "kill" or "restart".
    stack: the Python frames that say it, innermost first.
    threads: what the kernel says of the trainer's threads.
    workers: children that had died.
    stacks_file: the stacks of all Python threads, in the run's folder; empty without.
    missing: what could not be observed, one phrase each.
    """

    seconds: float
    phase: str
    step: int
    doing: str
    place: str
    action: str
    stack: list[str] = field(default_factory=list)
    threads: list[str] = field(default_factory=list)
    workers: list[str] = field(default_factory=list)
    stacks_file: str = ""
    missing: list[str] = field(default_factory=list)


@record
class TrainingWentOn(Event):
    """A training that stalled makes progress again."""

    seconds: float


@record
class RestartPlanned(Event):
    """The attempt failed, and the command is started again after a wait.

    cause: of the failure, as a diagnosis names it.
    restart: 1-based number of this restart.
    """

    cause: str
    wait_seconds: float
    restart: int
    restarts: int


@record
class RestartRefused(Event):
    """The attempt failed, restarts were asked for, and none is made."""

    cause: str
    reason: str


@record
class RolledBack(Event):
    """A number was not finite: the run goes on from an earlier state, as --on-nan asks.

    metric: "loss", or "weights"; step: the first where it was bad.
    checkpoint: that it goes on from; empty: from the beginning.
    action: "skip" (the batch of the step is left out), "rate" (a lower learning rate) or "look"
        (the step that spoils the weights is looked for; the numbers stay).
    rollback: 1-based number of this one in the run.
    learning_rate: from there on, where that is the action.
    """

    metric: str
    step: int
    checkpoint: str
    to_step: int
    action: str
    rollback: int
    rollbacks: int
    learning_rate: float | None = None


@record
class RollbackRefused(Event):
    """A number was not finite, and the run does not go on from an earlier state."""

    reason: str


@record
class BatchDivided(Event):
    """The memory did not suffice: the run goes on in smaller parts, as --on-oom asks.

    cause: of the failure, as a diagnosis names it; step: the one that failed.
    parts: of each batch, from now on.
    """

    cause: str
    step: int
    parts: int


@record
class BuffersReduced(Event):
    """The memory did not suffice: the input holds less of it from now on, as --on-oom asks.

    cause: of the failure, as a diagnosis names it; step: the one that failed.
    buffers: those that are smaller, as the script calls them.
    """

    cause: str
    step: int
    buffers: list[str]


@record
class DivisionRefused(Event):
    """The memory did not suffice, and smaller parts of a batch are no way out."""

    reason: str


@record
class SpareReady(Event):
    """A process for the next attempt has imported its libraries, in so many seconds."""

    pid: int
    seconds: float


@record
class RestartCancelled(Event):
    """Somebody asked the run to stop while it waited to be started again.

    source, signal, reason: as in `StopRequested`.
    """

    source: str
    signal: str = ""
    reason: str = ""


@record
class ExhaustionForecast(Event):
    """Something grows steadily and is going to meet its limit; told once for each.

    resource: "memory", "disk" (bytes), "open_files" or "tasks" (a number).
    place: the mount of a disk; "cgroup" or "machine", whose limit it is.
    used, left: at that moment.
    per_second: how fast it grows.
    seconds_left: until nothing is left; between `soonest_seconds` and `latest_seconds`.
    window_seconds: how long it was seen to grow.
    growing: "python": the blocks of Python's objects grow too; empty otherwise.
    """

    resource: str
    place: str
    used: float
    left: float
    per_second: float
    seconds_left: float
    soonest_seconds: float
    latest_seconds: float
    window_seconds: float
    step: int
    growing: str = ""
