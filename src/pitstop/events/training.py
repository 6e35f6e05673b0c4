"""The training, as the trainer reports it."""

from dataclasses import field

from pitstop.events.base import Event, JsonValue


class TrainerConnected(Event):
    """The instrumented process reported for the first time."""

    pid: int
    python: str
    argv: list[str]
    versions: dict[str, str]
    sources: dict[str, str] = field(default_factory=dict)  # digests of the script's modules
    inputs: dict[str, str] = field(default_factory=dict)  # digests of small files read


class InstrumentationUnavailable(Event):
    """Snapshots and exact resume are off for this process, and why."""

    reason: str
    remedy: str = ""


LOOPS = ("custom loop", "recorded loop", "monitored session")
WAITS_FOR_OTHERS = "waits_for_others"
IN_PARTS = "in_parts"


class FitStarted(Event):
    """`model.fit` began: the fit-th of the process, counted from 0."""

    fit: int
    epochs: int
    steps_per_epoch: int | None  # None when the input does not know its length
    # what is known of the input (adapter, batch size, shapes, digest); of a loop of the script's
    # own, its `adapter` is one of `LOOPS`, and `WAITS_FOR_OTHERS` is true where each step needs
    # gradients of several processes that take their steps by themselves; `IN_PARTS` is true where
    # the loop computes its steps in parts when memory is short
    data: dict[str, JsonValue] = field(default_factory=dict)
    large_buffers: list[str] = field(default_factory=list)  # that could be smaller, in order
    # the least that the largest shuffle of a pipeline holds, once it is full
    shuffle_bytes: int = 0
    # of the first one: digests of what the script had made and drawn, see `first_training`
    began_with: dict[str, str] = field(default_factory=dict)

    @property
    def is_loop(self) -> bool:
        return self.data.get("adapter") in LOOPS


class LevelKnown(Event):
    """How exact a resume of this run is: "exact", "exact_by_replay", "not_exact"."""

    level: str
    reason: str = ""
    unverified: list[str] = field(default_factory=list)
    has_deviated: bool = False  # what is trained may differ already, not only after a resume


class Restored(Event):
    """The trainer continues from saved state."""

    step: int  # first training step (counted over the whole run) it will execute
    epoch: int
    step_in_epoch: int
    level: str
    reason: str
    seconds: float
    lost_steps: int  # steps executed by an earlier attempt that are executed again


class CheckpointsSought(Event):
    """The script of a recorded loop has looked into a folder for its own `tf.train` checkpoints."""

    folder: str
    found: bool  # by the first look of the attempt


class FitRestored(Event):
    """A `fit` that an earlier attempt finished was not run again."""

    fit: int
    step: int
    epochs_run: int
    seconds: float


class EpochEnded(Event):
    fit: int
    epoch: int
    steps: int  # steps executed; expected_steps: None when unknown
    expected_steps: int | None
    logs: dict[str, float]


class InputExhausted(Event):
    """The input ended before `steps_per_epoch` steps."""

    fit: int
    epoch: int
    steps: int
    expected_steps: int


class NonFiniteLoss(Event):
    """The first step whose loss is NaN or infinite."""

    step: int
    epoch: int
    step_in_epoch: int
    metric: str
    value: str
    last_finite: float | None
    recent: list[float] = field(default_factory=list)  # losses before it, oldest first
    learning_rate: float | None = None  # of the optimizer after that step, None when not known
    is_scheduled: bool = False  # a schedule sets the rate
    unclipped: str = ""  # why gradients cannot be clipped; empty where they can


class BatchSkipped(Event):
    """A batch was not trained on, after a rollback or since it cannot be read."""

    step: int  # that it would have been, or the last one; step_in_epoch counts from 1
    epoch: int
    step_in_epoch: int
    file: str  # with its arrays, for NumPy; empty where it was not written
    found: list[str] = field(default_factory=list)  # what is NaN or infinite, or the error
    in_validation: bool = False  # then step_in_epoch counts the batches of the validation


class NonFiniteLocated(Event):
    """Where the first non-finite number of a step came from; the step was run again."""

    step: int  # that was looked at, counted from 1 over the whole run
    where: str  # "input", "weights", "activation", "loss", "gradient", "update" or "nowhere"
    name: str = ""  # of the part of the batch, the layer or the variable
    details: list[str] = field(default_factory=list)  # what else was found, one phrase each


class StepMemory(Event):
    """What training steps took in a process that was run to measure that, up to now."""

    share: float  # of the script's own batch; 0 before the first step
    records: int  # in the batch, 0 where nobody knows
    peak_bytes: int  # resident at the most, in these steps, or before the first one
    mapped_files_bytes: int = 0  # of it, what the kernel could read again from files
    children_bytes: int = 0  # what the script's own processes hold, without what is shared
    state_bytes: int = 0  # of all variables
    devices: dict[str, int] = field(default_factory=dict)  # peak of the allocator
    error: str = ""  # that ended the steps for want of memory, else empty


class StopTrainingSet(Event):
    """`model.stop_training` became true, and who set it."""

    step: int
    epoch: int
    callback: str  # class name, empty when no callback is on the stack
    file: str
    line: int
    function: str
    watched: dict[str, JsonValue] = field(default_factory=dict)  # monitor, patience, best, ...


class ExceptionRaised(Event):
    """An exception left the script uncaught."""

    class_name: str
    message: str
    # `file`, `line`, `function`: the innermost frame of the user's own code
    file: str
    line: int
    function: str
    callback: str  # class name of the callback it was raised in, or empty
    phase: str
    traceback: str
    bases: list[str] = field(default_factory=list)  # class names, outermost last


class ThreadFailed(Event):
    """An exception ended a thread of the script; the process goes on without it."""

    thread: str
    class_name: str
    message: str
    file: str
    line: int
    function: str


SIGNALLING = ("os.kill", "signal.pthread_kill", "signal.raise_signal")

DRILLED = "--die-at-step"


class ExitCalled(Event):
    """The script asked to exit, or the trainer kills itself, as a drill asks (`DRILLED`)."""

    how: str  # "sys.exit", "os._exit", "os.abort", "exit", "quit", `DRILLED`, or of `SIGNALLING`
    code: str  # what it gives back, in words when it is no number; or the signal's name
    file: str
    line: int
    function: str
    callback: str = ""  # class name of the callback that it was called in, or empty
    handling: str = ""  # class name of the exception that was being handled then, or empty
    module: str = ""  # the module whose code made the call, such as "__main__" or a library's


class FitLeft(Event):
    """An exception left `fit`; the script may catch it."""

    fit: int
    class_name: str
    file: str
    line: int
    function: str


class FitEnded(Event):
    fit: int
    step: int
    epochs_run: int
    epochs: int


class TrainerStopped(Event):
    """The trainer obeyed a stop request at a boundary."""

    step: int  # steps completed; all of them are in the newest snapshot
    epoch: int
    step_in_epoch: int
    phase: str  # where it stopped ("train", "validation", "predict", "restoring")


class ScriptEnded(Event):
    """The interpreter reached its normal exit (`atexit` ran)."""

    step: int
