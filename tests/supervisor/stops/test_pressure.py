"""What counts as short, and that nothing wavers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.supervisor.stops import pressure
from pitstop.supervisor.stops.pressure import Reading, Shortage, judge

_CALM = Reading(
    available_bytes=10_000_000_000,
    falling_bytes=0,
    trainer_bytes=1_000_000_000,
    stalled_share=0.0,
    swapping_bytes=0,
    disk_free_bytes=10_000_000_000,
    checkpoint_bytes=100_000_000,
)
_NOTHING: frozenset[Shortage] = frozenset()

_sizes = st.integers(0, 1 << 40)
_readings = st.builds(
    Reading,
    available_bytes=_sizes,
    falling_bytes=_sizes,
    trainer_bytes=_sizes,
    stalled_share=st.none() | st.floats(0, 1),
    swapping_bytes=_sizes,
    disk_free_bytes=st.none() | _sizes,
    checkpoint_bytes=_sizes,
)


def test_nothing_is_short_where_there_is_enough() -> None:
    assert judge(_NOTHING, _CALM) == _NOTHING


@pytest.mark.parametrize(
    ("change", "short"),
    [
        ({"available_bytes": 50_000_000}, False),
        ({"available_bytes": 49_999_999}, True),
        ({"available_bytes": 2_000_000_000, "falling_bytes": 390_000_000}, False),
        ({"available_bytes": 2_000_000_000, "falling_bytes": 391_000_000}, True),
        ({"stalled_share": 0.19}, False),
        ({"stalled_share": 0.2}, True),
        ({"stalled_share": None}, False),
        ({"swapping_bytes": (8 << 20) - 1}, False),
        ({"swapping_bytes": 8 << 20}, True),
        ({"disk_free_bytes": 200_000_000}, False),
        ({"disk_free_bytes": 199_999_999}, True),
        ({"disk_free_bytes": 17_000_000, "checkpoint_bytes": 0}, False),
        ({"disk_free_bytes": 16_000_000, "checkpoint_bytes": 0}, True),
        ({"disk_free_bytes": None}, False),
    ],
)
def test_what_is_short(change: dict[str, Any], short: bool) -> None:
    assert bool(judge(_NOTHING, replace(_CALM, **change))) is short


@pytest.mark.parametrize(
    ("shortage", "wavering", "relieved"),
    [
        (Shortage.MEMORY, {"available_bytes": 99_999_999}, {"available_bytes": 100_000_000}),
        (Shortage.STALLS, {"stalled_share": 0.05}, {"stalled_share": 0.049}),
        (Shortage.SWAPPING, {"swapping_bytes": 1 << 20}, {"swapping_bytes": (1 << 20) - 1}),
        (Shortage.DISK, {"disk_free_bytes": 299_999_999}, {"disk_free_bytes": 300_000_000}),
    ],
)
def test_what_is_relieved(
    shortage: Shortage, wavering: dict[str, Any], relieved: dict[str, Any]
) -> None:
    short = frozenset({shortage})
    assert judge(short, replace(_CALM, **wavering)) == short
    assert judge(_NOTHING, replace(_CALM, **wavering)) == _NOTHING
    assert judge(short, replace(_CALM, **relieved)) == _NOTHING


@given(_readings)
def test_a_verdict_stands_while_nothing_changes(reading: Reading) -> None:
    once = judge(_NOTHING, reading)
    assert judge(once, reading) == once


@given(_readings)
def test_every_shortage_has_words_and_numbers(reading: Reading) -> None:
    for each in Shortage:
        text = pressure.describe(each, reading)
        assert text.startswith(f"short of {each.value} (")
        assert any(letter.isdigit() for letter in text)


def test_the_user_is_told_or_the_run_is_stopped() -> None:
    text = "short of disk space (1 MB left)"
    assert pressure.notice(text).message.startswith("Short of disk space (1 MB left); the training")
    asked = pressure.request(text)
    assert (asked.source, asked.urgency, asked.reason) == ("pressure", "graceful", text)
