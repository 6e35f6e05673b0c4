"""Standstills that the supervisor notices, and what it starts again."""

from dataclasses import field

from pitstop.events.base import Event


class WorkerDied(Event):
    """A child of the trainer, started by `multiprocessing`, ended without a request."""

    pid: int
    signal: str = ""  # name of the signal that ended it, empty where it returned `exit_code`
    exit_code: int | None = None


class TrainingStalled(Event):
    """The training makes no progress, for much longer than ever before."""

    seconds: float  # since the last progress; suspended time is not counted
    phase: str
    step: int
    # "input", "step", "callback", "save", "restore", "script", "exit", "worker", "disk" or
    # "stopped"
    doing: str
    place: str  # the same in words, with file and line where they are known
    action: str  # "warn", "kill" or "restart"
    stack: list[str] = field(default_factory=list)  # the Python frames that say it, innermost first
    threads: list[str] = field(default_factory=list)  # as the kernel sees them
    workers: list[str] = field(default_factory=list)  # children that had died
    stacks_file: str = ""  # the stacks of all Python threads, in the run's folder; empty without
    missing: list[str] = field(default_factory=list)  # what could not be observed, one phrase each


class TrainingWentOn(Event):
    """A training that stalled makes progress again."""

    seconds: float


class RestartPlanned(Event):
    """The attempt failed, and the command is started again after a wait."""

    cause: str  # of the failure, as a diagnosis names it
    wait_seconds: float
    restart: int  # 1-based number of this restart
    restarts: int


class RestartRefused(Event):
    """The attempt failed, restarts were asked for, and none is made."""

    cause: str
    reason: str


class RolledBack(Event):
    """A number was not finite: the run goes on from an earlier state, as --on-nan asks."""

    metric: str  # "loss", or "weights"; step: the first where it was bad
    step: int
    checkpoint: str  # that it goes on from; empty: from the beginning
    to_step: int
    # "skip" (the batch of the step is left out), "rate" (a lower learning rate), "clip" (gradients
    # are clipped) or "look" (the step that spoils the weights is looked for; the numbers stay)
    action: str
    rollback: int  # 1-based number of this one in the run
    rollbacks: int
    learning_rate: float | None = None  # from there on, where that is the action


class RollbackRefused(Event):
    """A number was not finite, and the run does not go on from an earlier state."""

    reason: str


class BatchDivided(Event):
    """The memory did not suffice: the run goes on in smaller parts, as --on-oom asks."""

    cause: str  # of the failure, as a diagnosis names it
    step: int  # the one that failed
    parts: int  # of each batch, from now on


class BuffersReduced(Event):
    """The memory did not suffice: the input holds less of it from now on, as --on-oom asks."""

    cause: str  # of the failure, as a diagnosis names it
    step: int  # the one that failed
    buffers: list[str]  # those that are smaller, as the script calls them


class PrecisionReduced(Event):
    """The memory did not suffice: layers compute in a smaller dtype, as --on-oom asks."""

    cause: str  # of the failure, as a diagnosis names it
    step: int  # the one that failed
    policy: str  # the dtype policy that is Keras' default from now on


class DivisionRefused(Event):
    """The memory did not suffice, and smaller parts of a batch are no way out."""

    reason: str


class SpareReady(Event):
    """A process for the next attempt has imported its libraries, in so many seconds."""

    pid: int
    seconds: float


class RestartCancelled(Event):
    """Somebody asked the run to stop while it waited to be started again."""

    source: str  # all three as in `StopRequested`
    signal: str = ""
    reason: str = ""


class ExhaustionForecast(Event):
    """Something grows steadily and is going to meet its limit; told once for each."""

    resource: str  # "memory", "disk" (bytes), "open_files" or "tasks" (a number)
    place: str  # the mount of a disk; "cgroup" or "machine", whose limit it is
    # `used`, `left`: at that moment
    used: float
    left: float
    per_second: float  # how fast it grows
    seconds_left: float  # until nothing is left
    window_seconds: float  # how long it was seen to grow
    step: int
    growing: str = ""  # "python": the blocks of Python's objects grow too; empty otherwise
