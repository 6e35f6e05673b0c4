"""Restarts: what is retried, how long it is waited, and when it is enough."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnosis import CAUSES
from pitstop.durations import LONGEST_SECONDS
from pitstop.supervisor.restarts.restarts import (
    BRAKE,
    HANG,
    MEMBER,
    AttemptFailure,
    Decision,
    RestartPolicy,
    decide,
    most_in_a_row,
)
from tests.source_tree import ROOT

KILLED = "killed_from_outside"
CRASHED = "native_crash"
MANY = RestartPolicy(100)


def _after(*failures: tuple[str, int], policy: RestartPolicy = MANY) -> Decision:
    return decide([AttemptFailure(cause, step) for cause, step in failures], policy, 0.5)


def test_the_table_names_causes_that_there_are() -> None:
    assert set(BRAKE) <= set(CAUSES)


def test_the_page_names_every_cause_of_the_table() -> None:
    page = (ROOT / "docs" / "supervision.md").read_text(encoding="utf-8")
    assert not [cause for cause in BRAKE if f"`{cause}`" not in page]


@pytest.mark.parametrize(
    "cause",
    [
        "dependency_or_import_error",
        "user_code_error",
        "callback_error",
        "data_error",
        "disk_full",
        "user_interrupt",
        "time_limit",
        "checkpoint_corrupt_or_mismatch",
    ],
)
def test_what_would_come_back_is_not_retried(cause: str) -> None:
    decision = _after((cause, 5))
    assert decision.wait_seconds is None
    assert cause in decision.reason


@pytest.mark.parametrize("cause", sorted(BRAKE))
def test_what_may_pass_is_retried_after_a_wait(cause: str) -> None:
    other = HANG if cause != HANG else KILLED
    assert _after((other, 5), (cause, 5)).wait_seconds == pytest.approx(1.5)


def test_what_waits_for_nobody_is_retried_at_once_where_steps_were_made() -> None:
    assert _after((KILLED, 5)).wait_seconds == 0.0
    assert _after((MEMBER, 5)).wait_seconds == 0.0
    assert _after((KILLED, 5), (CRASHED, 6)).wait_seconds == 0.0
    assert _after((KILLED, 5), (CRASHED, 5)).wait_seconds == pytest.approx(1.5)
    assert _after(("network_or_download_failure", 5)).wait_seconds == pytest.approx(0.75)
    read = AttemptFailure("native_crash", 5, may_pass=True)
    assert decide([read], MANY, 0.5).wait_seconds == pytest.approx(0.75)


def test_a_read_that_failed_is_retried_whatever_it_is_called() -> None:
    failures = [AttemptFailure("data_error", 5, may_pass=True)] * 5
    assert decide(failures, MANY, 0.5).wait_seconds is not None
    assert "6 times in a row" in decide([*failures, failures[0]], MANY, 0.5).reason
    other = [*failures, AttemptFailure("data_error", 5)]
    assert "would happen again" in decide(other, MANY, 0.5).reason


def test_a_script_that_kills_itself_is_tried_once_more_only() -> None:
    own = AttemptFailure("user_code_error", 20, by_itself=True)
    assert decide([own], MANY, 0.5).wait_seconds == 0.0
    assert decide([own, own], MANY, 0.5).reason.startswith("user_code_error twice in a row")
    assert most_in_a_row(AttemptFailure("user_code_error", 20)) is None


def test_waits_grow_while_nothing_is_gained_and_begin_again_with_a_new_step() -> None:
    stuck = [(KILLED, 5), (KILLED, 5), (KILLED, 3)]
    waits = [_after(*stuck[: count + 1]).wait_seconds for count in range(3)]
    assert waits == pytest.approx([0.0, 1.5, 3.0])
    assert _after(*stuck, (KILLED, 6)).wait_seconds == 0.0


def test_the_same_cause_at_the_same_step_twice_is_enough() -> None:
    decision = _after((CRASHED, 47), (CRASHED, 47))
    assert decision.wait_seconds is None
    assert decision.reason == "native_crash twice in a row without a new step"


def test_an_earlier_step_is_no_progress() -> None:
    assert _after((CRASHED, 47), (CRASHED, 46)).wait_seconds is None


def test_a_new_step_or_another_cause_releases_the_brake() -> None:
    assert _after((CRASHED, 47), (CRASHED, 48)).wait_seconds is not None
    assert _after((CRASHED, 47), (KILLED, 47), (CRASHED, 47)).wait_seconds is not None


def test_causes_that_take_turns_do_not_go_on_for_ever() -> None:
    turns = [(CRASHED, 47), (HANG, 47), (KILLED, 47)] * 2
    assert _after(*turns[:5]).wait_seconds is not None
    assert _after(*turns).reason == "6 failures in a row without a new step"
    assert _after(*turns, (KILLED, 48)).wait_seconds is not None


def test_what_time_heals_gets_more_tries() -> None:
    causes = [("network_or_download_failure", 0)] * 5
    assert _after(*causes).wait_seconds is not None
    assert _after(*causes, causes[0]).wait_seconds is None


def test_the_number_of_restarts_is_kept() -> None:
    steps = [(KILLED, step) for step in range(4)]
    assert _after(*steps[:3], policy=RestartPolicy(3)).wait_seconds is not None
    decision = _after(*steps, policy=RestartPolicy(3))
    assert decision.wait_seconds is None
    assert "no restarts left (3 used)" in decision.reason


def test_a_hang_that_is_only_to_be_ended_is_not_retried() -> None:
    decision = _after((HANG, 5), policy=RestartPolicy(3, after_hang=False))
    assert decision.wait_seconds is None
    assert "--on-hang kill" in decision.reason


_FAILURES = st.lists(
    st.builds(AttemptFailure, st.sampled_from(CAUSES), st.integers(0, 3)), min_size=1, max_size=40
)


@given(_FAILURES, st.integers(0, 50), st.floats(0, 0.999))
def test_no_series_of_failures_is_retried_for_ever(
    failures: list[AttemptFailure], most: int, chance: float
) -> None:
    decision = decide(failures, RestartPolicy(most), chance)
    if decision.wait_seconds is None:
        assert decision.reason
    else:
        assert len(failures) <= most
        assert failures[-1].cause in BRAKE
        assert 0 <= decision.wait_seconds <= LONGEST_SECONDS
