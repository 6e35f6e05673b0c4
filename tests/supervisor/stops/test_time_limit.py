"""When the time is nearly up, and what is still waited for then."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.supervisor.lifecycle.deadline import Patience
from pitstop.supervisor.stops.stop_sources import StopSources, TimeLimit, lead_seconds

_NOW, _STARTED = 1_764_000_000.0, 500.0
_HOUR = TimeLimit(3600.0, 4100.0, "--max-time")

_seconds = st.floats(0, 1e5)


def test_a_limit_that_was_asked_for_counts_from_the_start() -> None:
    assert TimeLimit.find(3600.0, {}, _NOW, _STARTED) == _HOUR


def test_the_job_s_end_counts_when_nothing_was_asked_for() -> None:
    job = {"SLURM_JOB_END_TIME": "1764003600"}
    assert TimeLimit.find(None, job, _NOW, _STARTED) == TimeLimit(3600.0, 4100.0, "Slurm")
    assert TimeLimit.find(60.0, job, _NOW, _STARTED) == TimeLimit(60.0, 560.0, "--max-time")


@pytest.mark.parametrize("end", ["", "1763999999", "1764000000", "Unlimited", "-1", "1e12", "٣٣"])
def test_an_end_that_cannot_be_ours_is_no_limit(end: str) -> None:
    assert TimeLimit.find(None, {"SLURM_JOB_END_TIME": end}, _NOW, _STARTED) is None


def test_zero_turns_the_job_s_end_off() -> None:
    assert TimeLimit.find(0.0, {"SLURM_JOB_END_TIME": "1764003600"}, _NOW, _STARTED) is None


def test_a_step_and_two_saves_must_fit() -> None:
    assert lead_seconds(3.0, 10.0) == 3.0 + 2 * 10.0 + 2.0


def test_the_request_comes_when_the_rest_is_needed_and_says_so() -> None:
    assert _HOUR.request(4074.9, 3.0, 10.0) is None
    event = _HOUR.request(4075.0, 3.0, 10.0)
    assert event is not None
    assert (event.source, event.urgency) == ("time_limit", "graceful")
    assert event.reason == "25.0 s left of 1 h (--max-time), and stopping needs up to 25.0 s"


def test_a_limit_that_has_passed_leaves_nothing() -> None:
    event = _HOUR.request(9999.0, 0.0, 0.0)
    assert event is not None
    assert event.reason.startswith("0.0 s left")


@given(now=_seconds, step=_seconds, save=_seconds)
def test_a_request_leaves_time_for_a_whole_step(now: float, step: float, save: float) -> None:
    """At the moment of the request the wait is longer than a step, and the saves fit behind."""
    limit = TimeLimit(0.0, now + lead_seconds(step, save), "--max-time")
    wait = StopSources(Path(), limit).bound(Patience(1e9, "why"), now, save)
    assert step + 1.0 <= wait.seconds + 1e-6
    assert now + wait.seconds + 2 * save < limit.ends_at_seconds


def test_a_wait_is_never_made_longer_nor_negative() -> None:
    early, late = (
        StopSources(Path(), _HOUR).bound(Patience(5.0, "why"), at, 1.0) for at in (1000.0, 5000.0)
    )
    assert early == Patience(5.0, "why")
    assert late == Patience(0.0, "why")


def test_the_wait_for_the_end_after_a_sigterm_leaves_time_to_save(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited = StopSources(Path(), TimeLimit(10.0, 1010.0, "SIGTERM"))
    assert StopSources(Path(), None).terminate_seconds(1.0) == 3.0
    for now, seconds in ((1000.0, 3.0), (1006.0, 1.5), (1009.0, 0.2)):
        monkeypatch.setattr("time.monotonic", lambda now=now: now)
        assert limited.terminate_seconds(1.0) == seconds
