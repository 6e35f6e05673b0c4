"""What earlier attempts left behind."""

from __future__ import annotations

import pytest

from pitstop.engine.snapshots.weights_file import STARTED_FROM
from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    CheckpointCommitted,
    Event,
    FitEnded,
    FitStarted,
    GangFormed,
    LeaderFound,
    LevelKnown,
    MemberEnded,
    MemberReleased,
    Notice,
    ScriptSaved,
    StopRequested,
    TrainerConnected,
    TrainerExited,
)
from pitstop.journal import Entry
from pitstop.supervisor.records import fingerprint
from pitstop.supervisor.records.history import LEADER_AWAITED, History, LeaderBefore

_STARTED = AttemptStarted(1, ["x"], 1, 2, "host", environment={"cpus": 2})
_CONNECTED = TrainerConnected(2, "3.11.7", ["x"], {"keras": "3.15.0"})
_EXITED = TrainerExited(0, "", 12, 0, 12, "ended", None)


def _history() -> History:
    events = (_STARTED, _CONNECTED, _EXITED)
    return History.from_entries([Entry(0.0, 1, event) for event in events])


def test_first_attempt_has_none() -> None:
    history = History.from_entries([])
    assert history == History()
    assert fingerprint.compare(history.environment, {"cpus": 4}) == ()
    assert history.version_changes(_CONNECTED) == ()


def test_changes_are_found_against_the_last_attempt() -> None:
    [cpus] = fingerprint.compare(_history().environment, {"cpus": 4})
    assert (cpus.before, cpus.now) == ("2", "4")
    changed = TrainerConnected(3, "3.12.0", ["x"], {"keras": "3.16.0"})
    names = {change.what for change in _history().version_changes(changed)}
    assert names == {"Keras's version", "Python's version"}
    assert _history().version_changes(_CONNECTED) == ()
    assert _history().reached_step == 12


def test_a_save_is_expected_to_take_as_long_as_the_last_one() -> None:
    saves = [
        CheckpointCommitted(step, 0, "x", 1, seconds, "stop")
        for step, seconds in [(1, 9.0), (2, 4.0)]
    ]
    history = History.from_entries([Entry(0.0, 1, save) for save in saves])
    assert history.save_seconds == 4.0


def test_the_last_checkpoint_of_the_script_is_known() -> None:
    entries = [Entry(0.0, 1, ScriptSaved(step, "model")) for step in (50, 74)]
    assert (
        History.from_entries([*entries, Entry(0.0, 2, _STARTED)]).script_saved == entries[1].event
    )


def test_a_training_waits_that_has_begun_and_not_ended() -> None:
    def trains(*events: Event) -> bool:
        return History.from_entries([Entry(0.0, 1, event) for event in events]).trains

    begun, ended = FitStarted(0, 4, 20), FitEnded(0, 80, 4, 4)
    assert trains(begun)
    assert trains(begun, ended, FitStarted(1, 4, 20), _EXITED)
    assert not trains(begun, ended)
    assert not trains(FitStarted(0, 1, None, {"adapter": "recorded loop"}))


def test_weights_count_when_they_were_taken_over() -> None:
    def named(attempt: int, path: str) -> Entry:
        return Entry(0.0, attempt, AttemptStarted(attempt, ["x"], 1, 2, "host", start_from=path))

    taken = Entry(0.0, 1, Notice(STARTED_FROM, "The training starts from a.keras."))
    refused = [named(2, "b.keras"), Entry(0.0, 2, Notice("weights_refused", "Another shape."))]
    assert History.from_entries(refused).start_from == ""
    assert History.from_entries([named(1, "a.keras"), taken, *refused]).start_from == "a.keras"


def test_the_last_reason_why_a_state_is_not_exact() -> None:
    levels = [LevelKnown("not_exact", "it draws"), LevelKnown("exact_by_replay")]
    history = History.from_entries([Entry(0.0, 1, level) for level in levels])
    assert history.doubt == "it draws"
    assert History.from_entries([Entry(0.0, 1, levels[1])]).doubt == ""


_FOUND = LeaderFound("chief 0")
_FAILED = AttemptEnded(1, "failed", 137, 3, None)
_AWAITED = Notice(LEADER_AWAITED, "")
_LOST = MemberReleased("chief 0", "lost", 75, "")


@pytest.mark.parametrize(
    ("known", "told"),
    [
        ("UNKNOWN", []),
        ("UNKNOWN", [_FAILED]),
        ("UNKNOWN", [_FOUND]),
        ("UNKNOWN", [_FOUND, _LOST, _FAILED]),
        ("UNKNOWN", [_FOUND, StopRequested("signal", "graceful"), _FAILED]),
        ("UNKNOWN", [_FOUND, GangFormed("g", "worker 1", 2), _FAILED]),
        ("UNKNOWN", [_FOUND, _FAILED, _FOUND, _LOST, _FAILED]),
        ("THERE", [_FOUND, _FAILED]),
        ("THERE", [_FOUND, _LOST, _FAILED, _FOUND, _FAILED]),
        ("THERE", [_FOUND, _FAILED, _AWAITED, _LOST, _FAILED]),
        ("COMPLETED", [_FOUND, MemberEnded("worker 0", "", "completed"), _FAILED]),
        ("COMPLETED", [_FOUND, MemberReleased("chief 0", "completed", 0, ""), _FAILED]),
    ],
)
def test_what_is_known_of_the_leader_of_a_run_that_is_started_again(
    known: str, told: list[Event]
) -> None:
    history = History.from_entries([Entry(0.0, 1, event) for event in told])
    assert history.leader is LeaderBefore[known]
