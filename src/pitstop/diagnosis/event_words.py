"""What happened, in words: a few for each kind of event that is news."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
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


def in_words(event: events.Event) -> str:
    """What happened; empty where it is no news."""
    words = _WORDS.get(type(event))
    return words(event) if words else ""


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


_WORDS: Mapping[type[events.Event], Callable[[Any], str]] = {
    events.AttemptEnded: lambda each: each.state if each.state == "completed" else "",
    events.BatchDivided: "batches in {0.parts} parts from step {0.step:,} on".format,
    events.BatchSkipped: "the batch of step {0.step:,} is skipped".format,
    events.BuffersReduced: lambda each: (
        f"smaller input buffers from step {each.step:,} on: {', '.join(each.buffers)}"
    ),
    events.CheckpointCommitted: lambda each: (
        f"step {each.step:,} saved ({each.reason}){f' as {each.name}' if each.name else ''}"
    ),
    events.CheckpointFailed: lambda each: f"saving step {each.step:,} failed: {_short(each.error)}",
    events.CheckpointQuarantined: "{0.path} was set aside: {0.reason}".format,
    events.DivisionRefused: lambda each: f"not computed in parts: {_short(each.reason)}",
    events.ExceptionRaised: _raised,
    events.ExhaustionForecast: _exhaustion,
    events.ExitCalled: lambda each: f"{each.how}({each.code}) at {_source(each)}",
    events.InputExhausted: "the input ran out after {0.steps} of {0.expected_steps} steps".format,
    events.InstrumentationUnavailable: lambda each: _short(each.reason),
    events.NonFiniteLocated: lambda each: (
        f"step {each.step:,}, run again: {phrases.bad_first(each.where, each.name)}"
    ),
    events.NonFiniteLoss: _became_bad,
    events.NonFiniteWeights: "weights were not finite at step {0.step:,}".format,
    events.Notice: lambda each: _short(each.message),
    events.PrecisionReduced: "{0.policy} from step {0.step:,} on".format,
    events.RestartPlanned: lambda each: (
        f"restart {each.restart} of {each.restarts} {wait(each.wait_seconds)}"
    ),
    events.RestartRefused: lambda each: f"not restarted: {_short(each.reason)}",
    events.Restored: "resumed at step {0.step:,}".format,
    events.RollbackRefused: lambda each: f"not rolled back: {_short(each.reason)}",
    events.RolledBack: "rolled back to step {0.to_step:,} ({0.action})".format,
    events.StopDeadlinePassed: "no step ended within {0.waited_seconds:.0f} s ({0.reason})".format,
    events.StopRequested: _stop_requested,
    events.StopTrainingSet: lambda each: (
        f"{each.callback or _source(each)} ended the training at step {each.step:,}"
    ),
    events.ThreadFailed: lambda each: (
        f"thread {each.thread} ended with {each.class_name} at {_source(each)}"
    ),
    events.TrainerExited: _trainer_exited,
    events.TrainerStopped: "stopped after step {0.step:,}".format,
    events.TrainingStalled: lambda each: (
        f"the training hung at step {each.step:,}, {phrases.shorten(each.place)}"
    ),
    events.TrainingWentOn: "continued after {0.seconds:.0f} s without progress".format,
    events.UploadFailed: lambda each: f"upload failed: {_short(each.error)}",
    events.WorkerDied: lambda each: (
        f"data worker {each.pid} "
        + (f"was killed by {each.signal}" if each.signal else f"returned {each.exit_code}")
    ),
}
