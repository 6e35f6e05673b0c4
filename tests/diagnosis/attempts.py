"""Attempts written by hand: events and output, as a run would have recorded them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from pitstop.diagnosis import CauseId, Evidence, Finding, diagnose
from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    CheckpointCommitted,
    EpochEnded,
    Event,
    ExceptionRaised,
    FitEnded,
    FitStarted,
    InputExhausted,
    NonFiniteLoss,
    ScriptEnded,
    StopRequested,
    StopTrainingSet,
    TrainerConnected,
    TrainerExited,
    TrainerStopped,
)
from pitstop.journal import Entry

TRAINER_PID = 4225
STEP = 47

STARTED = AttemptStarted(1, ["python", "train.py"], 4200, TRAINER_PID, "box", cgroup="/jobs/a")
CONNECTED = TrainerConnected(TRAINER_PID, "3.11.7", ["train.py"], {"keras": "3.15.1"})
FIT = FitStarted(0, epochs=5, steps_per_epoch=20)
SAVED = CheckpointCommitted(40, 2, "checkpoints/00000040", 1000, 0.1, "cadence")
TRAINING: tuple[Event, ...] = (STARTED, CONNECTED, FIT, SAVED)

OOM_LINES = [
    (
        "oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,"
        f"oom_memcg=/jobs/a,task_memcg=/jobs/a,task=python,pid={TRAINER_PID},uid=0"
    ),
    (
        f"Memory cgroup out of memory: Killed process {TRAINER_PID} (python) total-vm:74228kB, "
        "anon-rss:64936kB, file-rss:3560kB, shmem-rss:0kB, UID:0 pgtables:188kB oom_score_adj:0"
    ),
]
LIMITS = {
    "cpu_seconds": {"soft": None, "hard": None},
    "address_space_bytes": {"soft": None, "hard": None},
    "open_files": {"soft": 256, "hard": 4096},
    "processes": {"soft": 500, "hard": 500},
    "dev_shm": {"size_bytes": 67108864, "free_bytes": 60000000},
}


def epoch(index: int, steps: int = 20, expected: int | None = 20, **logs: float) -> EpochEnded:
    return EpochEnded(0, index, steps, expected, logs or {"loss": 0.5, "val_loss": 0.6})


def fit_ended(epochs_run: int = 5) -> FitEnded:
    return FitEnded(0, step=20 * epochs_run, epochs_run=epochs_run, epochs=5)


def exited(code: int | None = 0, signal: str = "", **fields: Any) -> TrainerExited:
    ended = TrainerExited(
        code,
        signal,
        step=STEP,
        epoch=2,
        step_in_epoch=7,
        phase="train",
        seconds_since_boundary=0.2,
        max_rss_bytes=900_000_000,
        cpu_seconds=12.0,
        oom_kills=0,
        kernel_lines=[],
        limits=dict(LIMITS),
    )
    return replace(ended, **fields)


def killed(signal: str = "SIGKILL", **fields: Any) -> TrainerExited:
    return exited(None, signal, **fields)


def stop_by_signal(signal: str, **fields: Any) -> StopRequested:
    return StopRequested("signal", "graceful", signal, **fields)


def raised(class_name: str, message: str = "", bases: str = "", **fields: Any) -> ExceptionRaised:
    event = ExceptionRaised(
        class_name,
        message,
        file="train.py",
        line=42,
        function="main",
        callback="",
        phase="train",
        traceback="",
        bases=bases.split(),
    )
    return replace(event, **fields)


def early_stopping(epoch_index: int = 2, **watched: Any) -> StopTrainingSet:
    file = "/usr/lib/python3/site-packages/keras/src/callbacks/early_stopping.py"
    return StopTrainingSet(60, epoch_index, "EarlyStopping", file, 180, "on_epoch_end", watched)


def attempt_of(*events: Event, output: str = "", state: str = "", live: bool = False) -> Evidence:
    """An attempt of these events; with a state also its end."""
    end = (AttemptEnded(1, state, 0, STEP, 40),) if state else ()
    entries = [Entry(1000.0 + i, 1, event) for i, event in enumerate((*events, *end))]
    return Evidence(1, tuple(entries), output, is_live=live)


def failed(*events: Event, output: str = "") -> Evidence:
    return attempt_of(*TRAINING, *events, output=output, state="failed")


def stopped(*events: Event, output: str = "") -> Evidence:
    return attempt_of(*TRAINING, *events, output=output, state="stopped")


def completed(*events: Event, output: str = "") -> Evidence:
    return attempt_of(*TRAINING, *events, output=output, state="completed")


FINISHED: tuple[Event, ...] = (fit_ended(), ScriptEnded(100), exited(0))
STOPPED_CLEANLY: tuple[Event, ...] = (TrainerStopped(STEP, 2, 7, "train"), exited(75))
NAN_AT_12 = NonFiniteLoss(12, 0, 12, "loss", "nan", 0.7)
RAN_OUT_AT_15 = InputExhausted(0, 0, 15, 20)
PLATEAU = early_stopping(monitor="val_loss", patience=2, best=0.4, wait=2)

TRACEBACK = (
    "3/20 loss: 0.5Traceback (most recent call last):\n"
    '  File "/app/train.py", line 8, in <module>\n    main()\n'
    "{title}\n"
)


def printed(title: str) -> str:
    return TRACEBACK.format(title=title)


def log(output: str) -> Evidence:
    """Nothing but a log file."""
    return Evidence(0, (), output)


Case = tuple[str, Evidence, CauseId]
"""A name, what was recorded, and the cause that it must lead to."""


def as_parameters(cases: list[Case]) -> list[object]:
    return [pytest.param(evidence, cause, id=name) for name, evidence, cause in cases]


def finding_of(evidence: Evidence) -> Finding:
    finding = diagnose(evidence).finding
    assert finding is not None
    return finding


def advice_of(evidence: Evidence) -> tuple[str, ...]:
    return finding_of(evidence).advice


def check(evidence: Evidence, cause: CauseId) -> None:
    """The evidence leads to the cause, and the finding can be shown to a person."""
    finding = finding_of(evidence)
    assert finding.cause == cause
    assert 0 < finding.confidence <= 1
    assert 0 < len(finding.summary) < 400
    assert "None" not in finding.summary
    assert all(item.text.strip() for item in finding.evidence)
