"""What happened in an attempt, as marks on its timeline.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from pitstop.diagnosis import phrases
from pitstop.events import (
    AttemptEnded,
    BatchSkipped,
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointQuarantined,
    Event,
    ExceptionRaised,
    ExhaustionForecast,
    ExitCalled,
    InputExhausted,
    InstrumentationUnavailable,
    NonFiniteLoss,
    NonFiniteWeights,
    Notice,
    RestartPlanned,
    RestartRefused,
    Restored,
    RollbackRefused,
    RolledBack,
    StopDeadlinePassed,
    StopRequested,
    StopTrainingSet,
    TrainerExited,
    TrainerStopped,
    TrainingStalled,
    TrainingWentOn,
    UploadFailed,
    WorkerDied,
)
from pitstop.journal import Entry
from pitstop.report.timeline import Mark, MarkKind

_STOPPED_BY = {
    "command": "`pitstop stop`",
    "condition": "--stop-when",
    "nan": "--on-nan rollback",
    "file": "the file stop",
    "preemption": "the machine is taken away",
    "pressure": "--on-pressure",
    "script": "the script",
    "setting": "--halt-at-step",
    "supervisor_lost": "the supervisor is gone",
    "time_limit": "the time limit",
}


def marks(entries: Iterable[Entry]) -> tuple[Mark, ...]:
    return tuple(_marks(entries))


def _marks(entries: Iterable[Entry]) -> Iterator[Mark]:
    for entry in entries:
        found = _ending(entry.event) or _training(entry.event) or _trouble(entry.event)
        if found is not None:
            kind, text = found
            yield Mark(entry.time_seconds, kind, text)


def _ending(event: Event) -> tuple[MarkKind, str] | None:
    match event:
        case StopRequested():
            who = _STOPPED_BY.get(event.source, event.signal or event.source)
            reason = f" ({phrases.shorten(event.reason, 80)})" if event.reason else ""
            return MarkKind.STOP, f"stop requested: {who}{reason}"
        case StopDeadlinePassed():
            return MarkKind.FAULT, f"no step ended within {event.waited_seconds:.0f} s"
        case TrainerStopped():
            return MarkKind.STOP, f"stopped after step {event.step:,}"
        case TrainerExited(exit_code=0):
            return MarkKind.END, "the script ended"
        case TrainerExited():
            return _death(event)
        case AttemptEnded(state="completed"):
            return MarkKind.END, "completed"
        case _:
            return None


def _death(event: TrainerExited) -> tuple[MarkKind, str]:
    how = event.signal or f"exit code {event.exit_code}"
    return MarkKind.END, f"the script ended: {how}, at step {event.step:,}"


def _training(event: Event) -> tuple[MarkKind, str] | None:
    match event:
        case CheckpointCommitted():
            name = f" as {event.name}" if event.name else ""
            return MarkKind.CHECKPOINT, f"step {event.step:,} saved ({event.reason}){name}"
        case Restored():
            return MarkKind.RESUME, f"resumed at step {event.step:,}"
        case StopTrainingSet():
            who = event.callback or phrases.source_line(event.file, event.line)
            return MarkKind.STOP, f"{who} ended the training"
        case TrainingWentOn():
            return MarkKind.RESUME, f"went on after {event.seconds:.0f} s without progress"
        case ExitCalled():
            where = phrases.source_line(event.file, event.line, event.function)
            return MarkKind.STOP, f"{event.how}({event.code}) at {where}"
        case _:
            return None


def _trouble(event: Event) -> tuple[MarkKind, str] | None:
    match event:
        case ExceptionRaised():
            return MarkKind.FAULT, phrases.shorten(f"{event.class_name}: {event.message}", 100)
        case NonFiniteLoss():
            return MarkKind.FAULT, f"{event.metric} became {event.value} at step {event.step:,}"
        case NonFiniteWeights():
            return MarkKind.FAULT, f"weights are not finite at step {event.step:,}"
        case TrainingStalled():
            place = phrases.shorten(event.place, 80)
            return MarkKind.FAULT, f"no progress for {event.seconds:.0f} s: {place}"
        case WorkerDied():
            how = event.signal or f"exit code {event.exit_code}"
            return MarkKind.FAULT, f"data worker {event.pid} died: {how}"
        case InputExhausted():
            text = f"the input ended after {event.steps} of {event.expected_steps} steps"
            return MarkKind.FAULT, text
        case CheckpointFailed():
            return MarkKind.FAULT, f"saving step {event.step:,} failed: {event.error}"
        case _:
            return _warning(event)


def _warning(event: Event) -> tuple[MarkKind, str] | None:
    match event:
        case CheckpointQuarantined():
            return MarkKind.WARNING, f"{event.path} was set aside: {event.reason}"
        case UploadFailed():
            return MarkKind.WARNING, phrases.shorten(f"upload failed: {event.error}", 100)
        case InstrumentationUnavailable():
            return MarkKind.WARNING, phrases.shorten(event.reason, 100)
        case ExhaustionForecast():
            minutes = f"{event.seconds_left / 60:.0f} minutes"
            return MarkKind.WARNING, f"{event.resource} would be used up in about {minutes}"
        case Notice():
            return MarkKind.WARNING, phrases.shorten(event.message, 100)
        case _:
            return _recovery(event)


def _recovery(event: Event) -> tuple[MarkKind, str] | None:
    match event:
        case RestartPlanned():
            which = f"restart {event.restart} of {event.restarts}"
            return MarkKind.RESUME, f"{which} in {event.wait_seconds:.0f} s"
        case RolledBack():
            return MarkKind.RESUME, f"rolled back to step {event.to_step:,} ({event.action})"
        case RestartRefused():
            return MarkKind.WARNING, f"not started again: {phrases.shorten(event.reason, 80)}"
        case RollbackRefused():
            return MarkKind.WARNING, f"not rolled back: {phrases.shorten(event.reason, 80)}"
        case BatchSkipped():
            return MarkKind.WARNING, f"the batch of step {event.step:,} is left out"
        case _:
            return None
