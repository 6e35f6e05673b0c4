"""The training, as the trainer reports it."""

from __future__ import annotations

from dataclasses import field

from pitstop.events.base import Event, JsonValue
from pitstop.record import record


@record
class TrainerConnected(Event):
    """The instrumented process reported for the first time.

    sources: digests of the files of the script's own modules, by path.
    """

    pid: int
    python: str
    argv: list[str]
    versions: dict[str, str]
    sources: dict[str, str] = field(default_factory=dict)


@record
class InstrumentationUnavailable(Event):
    """Snapshots and exact resume are off for this process, and why."""

    reason: str
    remedy: str = ""


LOOPS = ("custom loop", "recorded loop", "monitored session")


@record
class FitStarted(Event):
    """`model.fit` began: the fit-th of the process, counted from 0.

    steps_per_epoch: None when the input does not know its length.
    data: what is known of the input (adapter, batch size, shapes, digest); of a
        loop of the script's own, its `adapter` is one of `LOOPS`.
    large_buffers: what of the input could hold less in memory, in the same order.
    """

    fit: int
    epochs: int
    steps_per_epoch: int | None
    data: dict[str, JsonValue] = field(default_factory=dict)
    large_buffers: list[str] = field(default_factory=list)


@record
class LevelKnown(Event):
    """How exact a resume of this run is: "exact", "exact_by_replay", "not_exact"."""

    level: str
    reason: str = ""
    unverified: list[str] = field(default_factory=list)


@record
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


@record
class FitRestored(Event):
    """A `fit` that an earlier attempt finished was not run again."""

    fit: int
    step: int
    epochs_run: int
    seconds: float


@record
class EpochEnded(Event):
    """An epoch ended.

    steps: steps executed; expected_steps: None when unknown.
    """

    fit: int
    epoch: int
    steps: int
    expected_steps: int | None
    logs: dict[str, float]


@record
class InputExhausted(Event):
    """The input ended before `steps_per_epoch` steps."""

    fit: int
    epoch: int
    steps: int
    expected_steps: int


@record
class NonFiniteLoss(Event):
    """The first step whose loss is NaN or infinite.

    recent: the losses of the steps before it, the oldest first.
    learning_rate: of the optimizer after that step, None when not known.
    """

    step: int
    epoch: int
    step_in_epoch: int
    metric: str
    value: str
    last_finite: float | None
    recent: list[float] = field(default_factory=list)
    learning_rate: float | None = None


@record
class BatchSkipped(Event):
    """A batch was not trained on, after a rollback or since it cannot be read.

    step: that it would have been; step_in_epoch counts from 1.
    file: with its arrays, for NumPy; empty where it was not written.
    found: what of it is NaN or infinite, one phrase each; or the error of its reading.
    """

    step: int
    epoch: int
    step_in_epoch: int
    file: str
    found: list[str] = field(default_factory=list)


@record
class NonFiniteLocated(Event):
    """Where the first non-finite number of a step came from; the step was run again.

    step: that was looked at, counted from 1 over the whole run.
    where: "input", "weights", "activation", "loss", "gradient", "update" or "nowhere".
    name: of the part of the batch, the layer or the variable.
    details: what else was found, one phrase each.
    """

    step: int
    where: str
    name: str = ""
    details: list[str] = field(default_factory=list)


@record
class StepMemory(Event):
    """What training steps took in a process that was run to measure that, up to now.

    share: of the script's own batch; 0 before the first step.
    records: in the batch, 0 where nobody knows.
    peak_bytes: resident at the most, in these steps, or before the first one.
    mapped_files_bytes: of it, what the kernel could read again from files.
    children_bytes: what the script's own processes hold, without what is shared.
    state_bytes: of all variables.
    devices: the most that TensorFlow's allocator had taken of each.
    error: that ended the steps for want of memory, else empty.
    """

    share: float
    records: int
    peak_bytes: int
    mapped_files_bytes: int = 0
    children_bytes: int = 0
    state_bytes: int = 0
    devices: dict[str, int] = field(default_factory=dict)
    error: str = ""


@record
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


@record
class ExceptionRaised(Event):
    """An exception left the script uncaught.

    file, line, function: the innermost frame of the user's own code.
    callback: class name of the callback it was raised in, or empty.
    bases: class names of the exception's bases, outermost last.
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


@record
class ThreadFailed(Event):
    """An exception ended a thread of the script; the process goes on without it."""

    thread: str
    class_name: str
    message: str
    file: str
    line: int
    function: str


@record
class ExitCalled(Event):
    """The script asked to exit.

    how: "sys.exit", "os._exit", "os.abort", "os.kill", "exit" or "quit".
    code: what it gives back, in words when it is no number; of os.kill the signal's name.
    callback: class name of the callback that it was called in, or empty.
    handling: class name of the exception that was being handled then, or empty.
    """

    how: str
    code: str
    file: str
    line: int
    function: str
    callback: str = ""
    handling: str = ""


@record
class FitEnded(Event):
    """`model.fit` returned."""

    fit: int
    step: int
    epochs_run: int
    epochs: int


@record
class TrainerStopped(Event):
    """The trainer obeyed a stop request at a boundary.

    phase: where it stopped ("train", "validation", "predict", "restoring").
    step: steps completed; all of them are in the newest snapshot.
    """

    step: int
    epoch: int
    step_in_epoch: int
    phase: str


@record
class ScriptEnded(Event):
    """The interpreter reached its normal exit (`atexit` ran)."""

    step: int
