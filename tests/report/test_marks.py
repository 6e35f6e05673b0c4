"""What happened, as marks on a timeline."""

from __future__ import annotations

import pytest

from pitstop.diagnosis.event_words import MarkKind
from pitstop.events import (
    AttemptEnded,
    CheckpointCommitted,
    CheckpointFailed,
    CheckpointQuarantined,
    Event,
    ExhaustionForecast,
    ExitCalled,
    FitStarted,
    InputExhausted,
    InstrumentationUnavailable,
    Notice,
    RestartPlanned,
    RestartRefused,
    Restored,
    StopDeadlinePassed,
    StopRequested,
    TrainerStopped,
    TrainingStalled,
    TrainingWentOn,
    UploadFailed,
    WorkerDied,
)
from pitstop.journal import Entry
from pitstop.report.timeline import marks
from tests.diagnosis.attempts import NAN_AT_12, exited, killed, raised

_CASES: list[tuple[Event, MarkKind, str]] = [
    (StopRequested("command", "graceful"), MarkKind.STOP, "stop requested: `pitstop stop`"),
    (StopRequested("signal", "now", "SIGTERM"), MarkKind.STOP, "stop requested: SIGTERM"),
    (
        StopRequested("time_limit", "graceful", reason="2 min left"),
        MarkKind.STOP,
        "stop requested: the time limit (2 min left)",
    ),
    (
        StopDeadlinePassed(30.0, "train", "grace"),
        MarkKind.FAULT,
        "no step ended within 30 s (grace)",
    ),
    (TrainerStopped(1047, 2, 7, "train"), MarkKind.STOP, "stopped after step 1,047"),
    (exited(0), MarkKind.END, "the script ended"),
    (killed(), MarkKind.END, "the script ended: SIGKILL, at step 47"),
    (exited(3), MarkKind.END, "the script ended: exit code 3, at step 47"),
    (AttemptEnded(1, "completed", 0, 47, 47), MarkKind.END, "completed"),
    (
        CheckpointCommitted(40, 2, "00000040", 1, 0.1, "requested", "best"),
        MarkKind.CHECKPOINT,
        "step 40 saved (requested) as best",
    ),
    (Restored(40, 2, 0, "exact", "", 0.5, 3), MarkKind.RESUME, "resumed at step 40"),
    (TrainingWentOn(80.0), MarkKind.RESUME, "continued after 80 s without progress"),
    (
        ExitCalled("sys.exit", "3", "/a/train.py", 7, "main"),
        MarkKind.STOP,
        "sys.exit(3) at /a/train.py:7 in main()",
    ),
    (raised("ValueError", "bad\nshape"), MarkKind.FAULT, "ValueError in phase train: bad"),
    (NAN_AT_12, MarkKind.FAULT, "the loss became nan at step 12"),
    (
        TrainingStalled(63.0, "train", 24, "input", "it waits", "warn"),
        MarkKind.FAULT,
        "the training hung at step 24, it waits",
    ),
    (WorkerDied(12, "SIGKILL"), MarkKind.FAULT, "data worker 12 was killed by SIGKILL"),
    (InputExhausted(0, 0, 15, 20), MarkKind.FAULT, "the input ran out after 15 of 20 steps"),
    (CheckpointFailed(40, "no space", ""), MarkKind.FAULT, "saving step 40 failed: no space"),
    (CheckpointQuarantined("00000040", "torn"), MarkKind.WARNING, "00000040 was set aside: torn"),
    (UploadFailed("refused", "", False), MarkKind.WARNING, "upload failed: refused"),
    (InstrumentationUnavailable("old Keras"), MarkKind.WARNING, "old Keras"),
    (
        ExhaustionForecast("memory", "cgroup", 1, 1, 1, 2400.0, 60.0, 5),
        MarkKind.WARNING,
        "the use of memory grew by 1 bytes/s at step 5: exhausted in about 40 minutes",
    ),
    (RestartPlanned("native_crash", 2.9, 1, 5), MarkKind.RESUME, "restart 1 of 5 in 2.9 s"),
    (RestartPlanned("native_crash", 0.0, 1, 5), MarkKind.RESUME, "restart 1 of 5 at once"),
    (
        RestartRefused("disk_full", "it would come back"),
        MarkKind.WARNING,
        "not restarted: it would come back",
    ),
    (Notice("code", "Look."), MarkKind.WARNING, "Look."),
]


@pytest.mark.parametrize(("event", "kind", "text"), _CASES, ids=[each[2] for each in _CASES])
def test_each_event_has_its_sign(event: Event, kind: MarkKind, text: str) -> None:
    [mark] = marks([Entry(5.0, 1, event)])
    assert (mark.seconds, mark.kind, mark.text) == (5.0, kind, text)


def test_what_is_no_news_has_no_mark() -> None:
    assert marks([Entry(5.0, 1, FitStarted(0, 1, 1)), Entry(6.0, 1, killed())])[0].seconds == 6.0
