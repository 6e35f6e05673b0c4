"""When silence is too long: learned, never while there is progress, never by a clock that jumps."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.link.beacon import Phase
from pitstop.supervisor.hangs import watchdog
from pitstop.supervisor.hangs.watchdog import (
    LONGEST_LOOK_SECONDS,
    PACED,
    IdleTime,
    Observation,
    begin_again,
    is_overdue,
    is_suspicious,
    may_end,
    patience_seconds,
    see,
)

AFTER = 60.0
TRAINING = Observation(0.0, 0, Phase.TRAIN, step_seconds=0.1)


def watched(*looks: Observation) -> IdleTime:
    silence = IdleTime()
    for look in looks:
        silence = see(silence, look)
    return silence


def silent(look: Observation, seconds: int) -> list[Observation]:
    """The same look, second by second."""
    return [replace(look, now_seconds=look.now_seconds + i) for i in range(seconds + 1)]


def overdue_after(look: Observation, most: int = 10_000) -> int | None:
    """After how many seconds of this a silence is too long; None if it never is."""
    silence = IdleTime()
    for each in silent(look, most):
        silence = see(silence, each)
        if is_overdue(silence, AFTER):
            return int(each.now_seconds)
    return None


def test_a_training_that_does_nothing_is_overdue_after_the_floor() -> None:
    assert overdue_after(TRAINING) == 60


def test_long_steps_are_given_longer() -> None:
    assert overdue_after(replace(TRAINING, step_seconds=30.0)) == 600


def test_a_training_that_computes_is_given_ten_times_as_long() -> None:
    assert overdue_after(replace(TRAINING, busy=True)) == 600


@pytest.mark.parametrize("after_seconds", [2.0, 4.0, 60.0])
def test_a_training_that_computes_is_looked_at_before_it_is_overdue(after_seconds: float) -> None:
    silence, has_been_looked_at = IdleTime(), False
    for each in silent(TRAINING, int(after_seconds) + 2):
        # Its work of a second is known at the second look at it.
        looks = is_suspicious(silence, after_seconds)
        silence = see(silence, replace(each, busy=looks and has_been_looked_at))
        has_been_looked_at = looks
    assert not is_overdue(silence, after_seconds)


@pytest.mark.parametrize("phase", [Phase.FIRST_STEP, Phase.BETWEEN_FITS, Phase.SAVING])
def test_where_no_pace_is_known_only_idleness_counts(phase: Phase) -> None:
    look = replace(TRAINING, phase=phase, step_seconds=0.0)
    assert overdue_after(look) == 300
    assert overdue_after(replace(look, busy=True)) is None


def test_the_second_step_is_given_as_long_as_the_first_one_took() -> None:
    first = silent(Observation(0.0, 0, Phase.FIRST_STEP, busy=True), 200)
    second = Observation(201.0, 1, Phase.TRAIN)
    silence = watched(*first, *silent(second, 500))
    assert not is_overdue(silence, AFTER)
    assert patience_seconds(silence, AFTER) == pytest.approx(600.0)


def test_a_silence_that_ended_is_learned_for_its_phase_only() -> None:
    callback = silent(TRAINING, 50)
    silence = watched(*callback, replace(TRAINING, now_seconds=51.0, mark=1))
    assert silence.seconds == 0
    assert patience_seconds(silence, AFTER) == pytest.approx(150.0)
    validation = watched(*callback, replace(TRAINING, mark=1, phase=Phase.VALIDATION))
    assert patience_seconds(validation, AFTER) == AFTER


def test_a_dead_worker_makes_impatient_where_input_is_drawn() -> None:
    lost = replace(TRAINING, worker_died=True)
    assert overdue_after(lost) == watchdog.WORKER_SECONDS
    assert overdue_after(replace(lost, phase=Phase.SAVING)) == 300
    silence = watched(*silent(lost, 30))
    assert is_overdue(silence, AFTER)
    assert not is_overdue(replace(silence, last=TRAINING), AFTER)


def test_a_suspended_process_and_no_floor_are_never_overdue() -> None:
    assert overdue_after(replace(TRAINING, stopped=True)) is None
    assert not is_overdue(watched(*silent(TRAINING, 1000)), 0.0)


def test_a_clock_that_jumped_counts_for_next_to_nothing() -> None:
    away = replace(TRAINING, now_seconds=1e6)
    assert watched(TRAINING, away).seconds == LONGEST_LOOK_SECONDS
    assert watched(away, TRAINING).seconds == 0


def test_a_silence_that_begins_again_is_short() -> None:
    silence = begin_again(watched(*silent(TRAINING, 100)))
    assert silence.seconds == 0
    assert not is_overdue(silence, AFTER)
    # Who is looked at again and again is looked at ever less often.
    assert patience_seconds(silence, AFTER) == pytest.approx(300.0)


def test_what_may_be_ended() -> None:
    assert may_end(Phase.TRAIN, "input")
    assert may_end(Phase.BETWEEN_FITS, "exit")
    assert not may_end(Phase.BETWEEN_FITS, "script")
    assert not may_end(Phase.TRAIN, "stopped")


LOOKS = st.builds(
    Observation,
    now_seconds=st.just(0.0),
    mark=st.integers(0, 3),
    phase=st.sampled_from(Phase),
    step_seconds=st.floats(0, 100),
    busy=st.booleans(),
    stopped=st.booleans(),
    worker_died=st.booleans(),
)


def timed(looks: list[Observation], gaps: list[float]) -> list[Observation]:
    now, result = 0.0, []
    for look, gap in zip(looks, gaps, strict=False):
        now += gap
        result.append(replace(look, now_seconds=now))
    return result


@given(st.lists(LOOKS, max_size=60), st.lists(st.floats(-5, 1e5), min_size=60, max_size=60))
def test_never_overdue_at_progress_nor_before_the_floor_has_been_seen_to_pass(
    looks: list[Observation], gaps: list[float]
) -> None:
    silence = IdleTime()
    for look in timed(looks, gaps):
        moved = silence.last is not None and silence.last.mark != look.mark
        silence = see(silence, look)
        assert silence.idle_seconds >= 0
        assert silence.busy_seconds >= 0
        if is_overdue(silence, AFTER):
            assert not moved
            least = watchdog.WORKER_SECONDS if look.worker_died else AFTER
            assert silence.seconds >= least
            assert not look.stopped


@given(st.sampled_from(sorted(PACED)), st.floats(0, 50), st.booleans())
def test_every_standstill_of_a_paced_phase_is_found(
    phase: Phase, step_seconds: float, busy: bool
) -> None:
    look = Observation(0.0, 0, phase, step_seconds=max(step_seconds, 1e-3), busy=busy)
    silence = watched(*silent(look, 3))
    busy_seconds, idle_seconds = (1e5, 0.0) if busy else (0.0, 1e5)
    assert not is_overdue(silence, AFTER)
    later = replace(silence, busy_seconds=busy_seconds, idle_seconds=idle_seconds)
    assert is_overdue(later, AFTER)
