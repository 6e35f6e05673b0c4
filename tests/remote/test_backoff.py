"""Waits between tries grow, stay bounded, and are not the same for all."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.remote.backoff import FIRST_SECONDS, LONGEST_SECONDS, delay_seconds

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
