"""The status of a run without a supervisor."""

from __future__ import annotations

import pytest

from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    EpochEnded,
    Event,
    ResumeChosen,
    RollbackRefused,
    TrainerExited,
)
from pitstop.journal import Entry
from pitstop.store.manifest import CheckpointInfo, Manifest
from pitstop.supervisor.status import is_completed, status_from

_STARTED = AttemptStarted(1, ["true"], 10, 11, "host")
_EXITED = TrainerExited(1, "", 42, 2, 4, "train", 0.1)
_INFO = CheckpointInfo(40, 2, 2, 0, "", 1, "cadence", "exact", 900.0, {})


def _entries(*events: Event, attempt: int = 1) -> list[Entry]:
    return [Entry(100.0 + at, attempt, event) for at, event in enumerate(events)]


def test_ended_attempt_says_its_state() -> None:
    entries = _entries(_STARTED, _EXITED, AttemptEnded(1, "stopped", 75, 42, 40))
    status = status_from("run", entries, Manifest(3, _INFO, {}, {}), 1000.0)
    assert (status.state, status.exit_code) == ("stopped", 75)
    assert (status.step, status.epoch, status.checkpoint_step) == (42, 2, 40)
    assert status.checkpoint_age_seconds == 100.0
    assert status.level == "exact"
    assert status.started_seconds == 100.0


def test_a_stop_for_a_number_that_is_not_finite_has_failed_if_it_is_not_rolled_back() -> None:
    ended, refused = AttemptEnded(1, "stopped", 75, 42, 40), RollbackRefused("it was, ten times")
    status = status_from("run", _entries(_STARTED, _EXITED, ended, refused), None, 0.0)
    assert (status.state, status.exit_code) == ("failed", 1)


def test_attempt_without_an_end_has_failed() -> None:
    status = status_from("run", _entries(_STARTED), Manifest(3, _INFO, {}, {}), 1000.0)
    assert (status.state, status.step, status.exit_code) == ("failed", 40, None)


@pytest.mark.parametrize(
    ("logs", "shown"),
    [({"loss": 0.5}, 0.5), ({"loss": float("nan")}, "nan"), ({"accuracy": 1.0}, None)],
)
def test_the_loss_of_the_last_epoch(logs: dict[str, float], shown: float | str | None) -> None:
    entries = _entries(_STARTED, EpochEnded(0, 0, 9, 9, logs))
    assert status_from("run", entries, None, 0.0).loss == shown


def test_only_the_last_attempt_counts() -> None:
    first = _entries(_STARTED, _EXITED, AttemptEnded(1, "completed", 0, 42, 42))
    second = _entries(AttemptStarted(2, ["true"], 12, 13, "host"), attempt=2)
    resumed = _entries(ResumeChosen(42, 2, "00000042", "exact"), attempt=2)
    status = status_from("run", first + second + resumed, None, 0.0)
    assert (status.state, status.attempt, status.resumed_from_step) == ("failed", 2, 42)


def test_run_that_never_began() -> None:
    status = status_from("run", [], None, 0.0)
    assert (status.state, status.step, status.checkpoint_step) == ("starting", None, None)


def test_completed_only_by_the_last_attempt() -> None:
    done = _entries(_STARTED, AttemptEnded(1, "completed", 0, 1, None))
    assert is_completed(done)
    assert not is_completed(done + _entries(_STARTED, attempt=2))
    assert not is_completed(_entries(_STARTED, AttemptEnded(1, "failed", 1, 1, None)))
    assert not is_completed([])


def test_a_process_that_did_not_train_has_no_position() -> None:
    server = TrainerExited(0, "", 0, 0, 0, "server", 0.1)
    entries = _entries(_STARTED, server, AttemptEnded(1, "completed", 0, 0, None))
    status = status_from("run", entries, None, 0.0)
    assert (status.step, status.epoch, status.step_in_epoch) == (None, None, None)
