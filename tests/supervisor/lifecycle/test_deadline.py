"""How long a stop waits."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.link.beacon import Beacon, Phase, Progress
from pitstop.supervisor.lifecycle.deadline import (
    Patience,
    overdue,
    patience,
    patience_with_one_of_several,
    patience_with_suspended,
)
from pitstop.supervisor.stops.stop_sources import StopSources, TimeLimit


def _progress(phase: Phase, step_seconds: float = 0.0) -> Progress:
    beacon = Beacon.create()
    beacon.write_phase(phase)
    beacon.write_step_seconds(step_seconds)
    return beacon.progress()


@pytest.mark.parametrize(
    ("progress", "connected", "seconds"),
    [
        (_progress(Phase.TRAIN), False, 30.0),
        (_progress(Phase.STARTING), True, 0.5),
        (_progress(Phase.FIRST_STEP), True, 1.0),
        (_progress(Phase.TRAIN, step_seconds=0.01), True, 5.0),
        (_progress(Phase.TRAIN, step_seconds=0.5), True, 10.0),
        (_progress(Phase.TRAIN, step_seconds=60.0), True, 30.0),
        (_progress(Phase.VALIDATION), True, 30.0),
        (_progress(Phase.SAVING), True, 30.0),
        (_progress(Phase.RESTORING), True, 30.0),
        (_progress(Phase.BETWEEN_FITS), True, 30.0),
        (_progress(Phase.ENDED), False, 30.0),
    ],
)
def test_wait_follows_what_could_be_lost(
    progress: Progress, connected: bool, seconds: float
) -> None:
    wait = patience(progress, connected=connected, stopped=False, grace_seconds=30.0)
    assert wait.seconds == seconds


@pytest.mark.parametrize("phase", Phase)
def test_grace_is_the_longest_wait_for_a_boundary(phase: Phase) -> None:
    wait = patience(_progress(phase, 9.0), connected=True, stopped=False, grace_seconds=0.1)
    assert wait.seconds <= 0.1


def test_trainer_that_has_stopped_gets_time_to_exit() -> None:
    wait = patience(_progress(Phase.SAVING), connected=False, stopped=True, grace_seconds=30.0)
    assert wait.seconds == 60.0


def test_a_script_whose_child_has_trained_gets_less_once_that_is_gone() -> None:
    progress = _progress(Phase.ENDED)
    wait = patience(progress, connected=False, stopped=True, grace_seconds=30.0, left_seconds=4.0)
    assert wait.seconds == 19.0
    wait = patience(progress, connected=False, stopped=True, grace_seconds=5.0, left_seconds=4.0)
    assert wait.seconds == 10.0


def test_overdue_only_when_the_wait_is_over() -> None:
    progress = _progress(Phase.TRAIN)
    assert overdue(Patience(5.0, "why"), 4.99, progress) is None
    event = overdue(Patience(5.0, "why"), 5.0, progress)
    assert event is not None
    assert (event.phase, event.reason, event.waited_seconds) == ("train", "why", 5.0)


def test_a_script_that_goes_on_by_itself_is_not_ended_but_by_a_limit() -> None:
    progress = _progress(Phase.BETWEEN_FITS)
    wait = patience(progress, connected=True, stopped=True, grace_seconds=30.0, goes_on=True)
    assert overdue(wait, 1e9, progress) is None
    limited = StopSources(Path(), TimeLimit(60.0, 160.0, "--max-time")).bound(wait, 100.0, 1.0)
    assert overdue(limited, 60.0, progress) is not None
    before = patience(progress, connected=True, stopped=False, grace_seconds=30.0, goes_on=True)
    assert before.seconds == 30.0


@pytest.mark.parametrize(("left_seconds", "seconds"), [(None, 5.0), (2.0, 2.0)])
def test_workers_of_one_script_are_not_waited_for(
    left_seconds: float | None, seconds: float
) -> None:
    assert patience_with_one_of_several(30.0, left_seconds).seconds == seconds
    assert patience_with_one_of_several(1.0, left_seconds).seconds == 1.0


@pytest.mark.parametrize(("seconds", "waited_seconds"), [(30.0, 10.0), (5.0, 5.0)])
def test_a_suspended_process_is_not_waited_for_longer_than_a_lease(
    seconds: float, waited_seconds: float
) -> None:
    wait = patience_with_suspended(Patience(seconds, "the step did not end"), 10.0)
    assert wait == Patience(waited_seconds, "its process was suspended")
