"""A server that its leader has released ends as the leader did, and has little time for it."""

from __future__ import annotations

from contextlib import closing

import pytest

from pitstop.events import MemberReleased, RoleTaken
from pitstop.link.beacon import Beacon
from pitstop.supervisor.attempt.command import decide
from pitstop.supervisor.lifecycle.deadline import patience
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.records import attempt_state
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.notices import outcome_of


@pytest.mark.parametrize("wait_status", [0, 1 << 8, 15, None])
@pytest.mark.parametrize(
    ("outcome", "exit_code", "trigger"),
    [
        ("completed", 0, Trigger.ENDED_COMPLETED),
        ("stopped", 75, Trigger.ENDED_STOPPED),
        ("failed", 3, Trigger.ENDED_STOPPED),
        ("lost", 75, Trigger.ENDED_STOPPED),
    ],
)
def test_it_ends_as_its_leader_however_its_process_went(
    wait_status: int | None, outcome: str, exit_code: int, trigger: Trigger
) -> None:
    released = MemberReleased("chief 0", outcome, exit_code, "why")
    server = RoleTaken("server", 7, "ps 0")
    verdict = decide(AttemptState(stop_requested=True, role=server, released=released), wait_status)
    assert (verdict.signal, verdict.exit_code) == (trigger, exit_code)


def test_a_member_whose_session_never_began_has_completed_with_its_leader() -> None:
    released = MemberReleased("chief 0", "completed", 0, "why")
    member = RoleTaken("member", 7, "worker 1")
    verdict = decide(AttemptState(stop_requested=True, role=member, released=released), 15)
    assert (verdict.signal, verdict.exit_code) == (Trigger.ENDED_COMPLETED, 0)


@pytest.mark.parametrize(
    ("is_over", "raised", "trigger", "code"),
    [
        (True, False, Trigger.ENDED_COMPLETED, 0),
        (True, True, Trigger.ENDED_FAILED, 137),
        (False, False, Trigger.ENDED_FAILED, 137),
    ],
)
def test_a_worker_that_outlives_its_leader_has_completed_if_its_script_has(
    trigger: Trigger, code: int, *, is_over: bool, raised: bool
) -> None:
    released = MemberReleased("worker 0", "completed", 0, "why")
    found = AttemptState(raised=raised, released=released, script_ended=is_over)
    verdict = decide(found, 9)
    assert (verdict.signal, verdict.exit_code) == (trigger, code)


def test_its_wait_is_short() -> None:
    with closing(Beacon.create()) as beacon:
        now = beacon.progress()
    wait = patience(now, connected=False, stopped=False, grace_seconds=60.0, released=True)
    assert wait.seconds < 10.0


def test_a_process_that_takes_the_role_of_a_server_serves() -> None:
    state = AttemptState()
    assert not state.serves
    for role, serves in (("member", False), ("server", True)):
        state = attempt_state.tell(state, RoleTaken(role, 7, "ps 0"), 0.0)
        assert state.serves == serves
    released = MemberReleased("chief 0", "completed", 0, "why")
    assert attempt_state.tell(state, released, 0.0).released == released


def test_each_outcome_has_its_words() -> None:
    words = {outcome_of(state, 3) for state in (State.COMPLETED, State.STOPPED, State.FAILED)}
    assert len(words) == 3
    assert "3" in outcome_of(State.FAILED, 3)
