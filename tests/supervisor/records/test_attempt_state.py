"""What is remembered of an attempt."""

from __future__ import annotations

from functools import reduce

import pytest

from pitstop.events import (
    CheckpointCommitted,
    Event,
    ExceptionRaised,
    FitStarted,
    InstrumentationUnavailable,
    LevelKnown,
    Notice,
    Restored,
    ResumeChosen,
    RoleTaken,
    ScriptEnded,
    ScriptSaved,
    StopRequested,
    TrainerStopped,
)
from pitstop.supervisor.records.attempt_state import AttemptState, tell


def _told(*events: Event) -> AttemptState:
    return reduce(
        lambda attempt_state, event: tell(attempt_state, event, 50.0), events, AttemptState()
    )


def test_story_of_a_stopped_attempt() -> None:
    attempt_state = _told(
        ResumeChosen(40, 2, "00000040", "exact"),
        Restored(40, 2, 0, "exact", "", 0.1, 3),
        FitStarted(0, 9, 20),
        LevelKnown("not_exact", "a generator"),
        StopRequested("command", "graceful"),
        CheckpointCommitted(45, 2, "00000045", 1, 0.1, "stop"),
        TrainerStopped(45, 2, 5, "train"),
    )
    assert attempt_state == AttemptState(
        stop_requested=True,
        stop_sources=frozenset({"command"}),
        trainer_stopped=True,
        trains=True,
        level="not_exact",
        level_reason="a generator",
        resumed_from_step=40,
        checkpoint_step=45,
        checkpoint_epoch=2,
        checkpoint="00000045",
        checkpoint_seconds=50.0,
        checkpoint_bytes=1,
        save_seconds=0.1,
    )


def test_end_of_the_script() -> None:
    assert _told(ScriptEnded(3)).script_ended


def test_refused_resume() -> None:
    assert _told(Notice("resume_refused", "The model changed.")).resume_refused


def test_other_events_change_nothing() -> None:
    assert _told(Notice("x", "y")) == AttemptState()


@pytest.mark.parametrize("reason", [RoleTaken("server", 7, "ps 0"), InstrumentationUnavailable("")])
def test_what_is_not_saved_has_saved_nothing_until_there_is_a_checkpoint(reason: Event) -> None:
    assert not _told(FitStarted(0, 9, 20)).saves_nothing
    assert _told(reason).saves_nothing
    assert not _told(reason, TrainerStopped(45, 2, 5, "train")).saves_nothing
    assert not _told(CheckpointCommitted(45, 2, "00000045", 1, 0.1, "stop"), reason).saves_nothing


def test_a_coordinator_that_is_ended_in_its_first_step_is_a_training_as_any_other() -> None:
    coordinates = _told(RoleTaken("coordinator", 7, "chief 0"))
    assert coordinates.saves_nothing
    trains = _told(RoleTaken("coordinator", 7, "chief 0"), FitStarted(0, 9, 20))
    assert not trains.saves_nothing
    assert not _told(FitStarted(0, 9, 20), RoleTaken("coordinator", 7, "chief 0")).saves_nothing


def test_a_stop_of_the_cluster_is_no_first_request_to_this_run() -> None:
    of_cluster, of_user = StopRequested("cluster", "graceful"), StopRequested("signal", "graceful")
    assert not _told(of_cluster).stop_asked_here
    assert _told(of_cluster, of_user).stop_asked_here


def test_who_evaluates_ends_as_the_leader() -> None:
    assert _told(RoleTaken("evaluator", 7, "evaluator 0")).ends_as_released


def test_a_server_that_the_same_run_starts_does_not_hide_the_session_that_trains() -> None:
    session, server = RoleTaken("session", 7, "worker 0"), RoleTaken("server", 8, "ps 0")
    assert _told(RoleTaken("member", 7, "worker 0"), session, server).saves_itself
    assert _told(server, session).saves_itself


def test_a_member_whose_steps_are_not_seen_ends_as_the_leader_unless_it_has_failed() -> None:
    server = RoleTaken("member", 7, "ps 0")
    assert _told(server).ends_as_released
    failed = ExceptionRaised("ValueError", "", "", 0, "", "", "", "")
    assert not _told(server, failed).ends_as_released


@pytest.mark.parametrize("role", ["monitored_session", "session"])
def test_a_session_that_has_saved_goes_on_from_there(role: str) -> None:
    worker = _told(RoleTaken(role, 7, "worker 1"))
    assert worker.ends_as_released
    chief = _told(RoleTaken(role, 7), ScriptSaved(120, "logs"))
    assert not chief.ends_as_released
    assert not chief.saves_nothing
    assert chief.checkpoint_step == 120
