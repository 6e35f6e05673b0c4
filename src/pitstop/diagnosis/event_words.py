"""What happened, in words: a few for each kind of event that is news."""

import math
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any

from pitstop import events
from pitstop.diagnosis import phrases
from pitstop.durations import wait

_STOPPED_BY = {
    "command": "`pitstop stop`",
    "condition": "--stop-when",
    "nan": "--on-nan rollback",
    "file": "the file stop",
    "preemption": "preemption of the machine",
    "pressure": "--on-pressure",
    "script": "the script",
    "setting": "--halt-at-step",
    "supervisor_lost": "the supervisor died",
    "time_limit": "the time limit",
}


class MarkKind(StrEnum):
    """The kind of a mark in a timeline; each kind has its own sign."""

    CHECKPOINT = "checkpoint"
    RESUME = "resume"
    STOP = "stop"
    WARNING = "warning"
    FAULT = "fault"
    END = "end"


def news_of(event: events.Event) -> tuple[MarkKind | None, str]:
    """The kind of mark, if a timeline shows the event, and its text; empty for other events."""
    kind, words = _BY_EVENT.get(type(event), (None, None))
    return kind, words(event) if words else ""


def _stop_requested(event: events.StopRequested) -> str:
    who = _STOPPED_BY.get(event.source, event.signal or event.source)
    return f"stop requested: {who}" + (f" ({_short(event.reason)})" if event.reason else "")


def _trainer_exited(event: events.TrainerExited) -> str:
    how = event.signal or f"exit code {event.exit_code}"
    return "the script ended" + ("" if how == "exit code 0" else f": {how}, at step {event.step:,}")


def _raised(event: events.ExceptionRaised) -> str:
    where = f"in callback {event.callback}" if event.callback else f"in phase {event.phase}"
    return f"{event.class_name.rpartition('.')[2]} {where}: {_short(event.message)}"


def _became_bad(event: events.NonFiniteLoss) -> str:
    losses = " -> ".join(phrases.number(float(loss)) for loss in event.recent[-4:])
    became = f"the {event.metric} became {event.value} at step {event.step:,}"
    return f"{became}, after {losses}" if losses else became


def _exhaustion(event: events.ExhaustionForecast) -> str:
    python = " (as did Python's objects)" if event.growing else ""
    rate = event.per_second
    size = phrases.size(round(rate)) if math.isfinite(rate) else str(rate)
    grew = f"the use of {event.resource} grew by {size}/s{python}"
    minutes = f"{event.seconds_left / 60:.0f} minutes"
    return f"{grew} at step {event.step:,}: exhausted in about {minutes}"


def _source(event: Any) -> str:
    return phrases.source_line(event.file, event.line, getattr(event, "function", ""))


def _short(text: str) -> str:
    return phrases.shorten(text, 100)


_NEWS: Mapping[MarkKind | None, Mapping[type[events.Event], Callable[[Any], str]]] = {
    MarkKind.CHECKPOINT: {
        events.CheckpointCommitted: lambda each: (
            f"step {each.step:,} saved ({each.reason}){f' as {each.name}' if each.name else ''}"
        ),
    },
    MarkKind.RESUME: {
        events.BatchDivided: "batches in {0.parts} parts from step {0.step:,} on".format,
        events.BuffersReduced: lambda each: (
            f"smaller input buffers from step {each.step:,} on: {', '.join(each.buffers)}"
        ),
        events.PrecisionReduced: "{0.policy} from step {0.step:,} on".format,
        events.Restored: "resumed at step {0.step:,}".format,
        events.RestartPlanned: lambda each: (
            f"restart {each.restart} of {each.restarts} {wait(each.wait_seconds)}"
        ),
        events.RolledBack: "rolled back to step {0.to_step:,} ({0.action})".format,
        events.TrainingWentOn: "continued after {0.seconds:.0f} s without progress".format,
    },
    MarkKind.STOP: {
        events.ExitCalled: lambda each: (
            f"{each.how}({each.code}) at {_source(each)}"
            if each.file
            else f"{each.code} ({each.how})"
        ),
        events.StopRequested: _stop_requested,
        events.StopTrainingSet: lambda each: (
            f"{each.callback or _source(each)} ended the training at step {each.step:,}"
        ),
        events.TrainerStopped: "stopped after step {0.step:,}".format,
    },
    MarkKind.FAULT: {
        events.CheckpointFailed: lambda each: (
            f"saving step {each.step:,} failed: {_short(each.error)}"
        ),
        events.ExceptionRaised: _raised,
        events.InputExhausted: lambda each: (
            f"the input ran out after {each.steps} of {each.expected_steps} steps"
        ),
        events.NonFiniteLoss: _became_bad,
        events.NonFiniteWeights: "weights were not finite at step {0.step:,}".format,
        events.StopDeadlinePassed: lambda each: (
            f"no step ended within {each.waited_seconds:.0f} s ({each.reason})"
        ),
        events.ThreadFailed: lambda each: (
            f"thread {each.thread} ended with {each.class_name} at {_source(each)}"
        ),
        events.TrainingStalled: lambda each: (
            f"the training hung at step {each.step:,}, {phrases.shorten(each.place)}"
        ),
        events.WorkerDied: lambda each: (
            f"data worker {each.pid} "
            + (f"was killed by {each.signal}" if each.signal else f"returned {each.exit_code}")
        ),
    },
    MarkKind.WARNING: {
        events.BatchSkipped: lambda each: (
            f"{'a validation batch after' if each.in_validation else 'the batch of'} "
            f"step {each.step:,} is skipped"
        ),
        events.CheckpointQuarantined: "{0.path} was set aside: {0.reason}".format,
        events.DivisionRefused: lambda each: f"not computed in parts: {_short(each.reason)}",
        events.ExhaustionForecast: _exhaustion,
        events.InstrumentationUnavailable: lambda each: _short(each.reason),
        events.Notice: lambda each: _short(each.message),
        events.RestartRefused: lambda each: f"not restarted: {_short(each.reason)}",
        events.RollbackRefused: lambda each: f"not rolled back: {_short(each.reason)}",
        events.UploadFailed: lambda each: f"upload failed: {_short(each.error)}",
    },
    MarkKind.END: {
        events.AttemptEnded: lambda each: each.state if each.state == "completed" else "",
        events.TrainerExited: _trainer_exited,
    },
    # Found out afterwards, and no part of the attempt.
    None: {
        events.NonFiniteLocated: lambda each: (
            f"step {each.step:,}, run again: {phrases.bad_first(each.where, each.name)}"
        ),
    },
}
_BY_EVENT = {event: (kind, words) for kind, row in _NEWS.items() for event, words in row.items()}
