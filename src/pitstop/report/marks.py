"""What happened in an attempt, as marks on its timeline.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pitstop import events
from pitstop.diagnosis.event_words import in_words
from pitstop.journal import Entry
from pitstop.report.timeline import Mark, MarkKind

_EVENTS: Mapping[MarkKind, tuple[type[events.Event], ...]] = {
    MarkKind.CHECKPOINT: (events.CheckpointCommitted,),
    MarkKind.RESUME: (
        events.BatchDivided,
        events.Restored,
        events.RestartPlanned,
        events.RolledBack,
        events.TrainingWentOn,
    ),
    MarkKind.STOP: (
        events.ExitCalled,
        events.StopRequested,
        events.StopTrainingSet,
        events.TrainerStopped,
    ),
    MarkKind.FAULT: (
        events.CheckpointFailed,
        events.ExceptionRaised,
        events.InputExhausted,
        events.NonFiniteLoss,
        events.NonFiniteWeights,
        events.StopDeadlinePassed,
        events.ThreadFailed,
        events.TrainingStalled,
        events.WorkerDied,
    ),
    MarkKind.WARNING: (
        events.BatchSkipped,
        events.CheckpointQuarantined,
        events.DivisionRefused,
        events.ExhaustionForecast,
        events.InstrumentationUnavailable,
        events.Notice,
        events.RestartRefused,
        events.RollbackRefused,
        events.UploadFailed,
    ),
    MarkKind.END: (events.AttemptEnded, events.TrainerExited),
}
_KINDS = {event: kind for kind, found in _EVENTS.items() for event in found}


def marks(entries: Iterable[Entry]) -> tuple[Mark, ...]:
    return tuple(
        Mark(entry.time_seconds, kind, text)
        for entry in entries
        if (kind := _KINDS.get(type(entry.event))) and (text := in_words(entry.event))
    )
