"""Durations as they are read."""

from __future__ import annotations

import pytest

from pitstop.durations import about, duration, wait


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
