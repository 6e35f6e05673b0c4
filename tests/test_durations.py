"""Durations as they are read."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.durations import FIRST_SECONDS, LONGEST_SECONDS, about, delay_seconds, duration, wait


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.512, "0.51 s"),
        (59.4, "59 s"),
        (59.6, "1 min"),
        (250, "4 min 10 s"),
        (3600, "1 h"),
        (3660 + 59, "1 h 1 min"),
        (2 * 86400 + 4 * 3600, "2 d 4 h"),
    ],
)
def test_a_duration(seconds: float, text: str) -> None:
    assert duration(seconds) == text


@pytest.mark.parametrize("seconds", [float("inf"), float("-inf"), float("nan")])
def test_a_duration_that_is_no_number_of_seconds(seconds: float) -> None:
    assert duration(seconds) == about(seconds) == "an unknown time"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.2, "1 seconds"),
        (89, "89 seconds"),
        (91, "2 minutes"),
        (2400, "40 minutes"),
        (5399, "90 minutes"),
        (5401, "2 hours"),
        (200_000, "2 days"),
    ],
)
def test_a_forecast_s_duration_is_no_more_precise_than_the_forecast(
    seconds: float, text: str
) -> None:
    assert about(seconds) == text


def test_a_wait_is_none_where_there_is_nothing_to_wait_for() -> None:
    assert (wait(0.0), wait(1.26)) == ("at once", "in 1.3 s")


_CHANCES = st.floats(0.0, 1.0, exclude_max=True)


@given(failures=st.integers(1, 10_000), chance=_CHANCES)
def test_a_wait_is_bounded(failures: int, chance: float) -> None:
    assert FIRST_SECONDS / 2 <= delay_seconds(failures, chance) <= LONGEST_SECONDS


@given(failures=st.integers(1, 100), chance=_CHANCES)
def test_a_wait_never_shrinks(failures: int, chance: float) -> None:
    assert delay_seconds(failures, chance) <= delay_seconds(failures + 1, chance)


def test_chance_spreads_the_waits() -> None:
    assert delay_seconds(3, 0.0) == 2.0
    assert delay_seconds(3, 0.5) == 3.0
