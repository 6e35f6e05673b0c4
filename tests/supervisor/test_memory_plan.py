"""What a loaded state may take."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.supervisor.memory_plan import image_memory_bytes

SIZES = st.integers(0, 1 << 40)


@given(SIZES, SIZES, st.none() | SIZES)
def test_what_the_user_allows_counts(available: int, limit: int, peak: int | None) -> None:
    if limit:
        assert image_memory_bytes(available, peak, limit) == limit


@given(SIZES, SIZES)
def test_the_trainer_finds_what_it_took_before(available: int, peak: int) -> None:
    allowed = image_memory_bytes(available, peak, 0)
    assert allowed == 0 or allowed + peak == available


def test_without_an_earlier_trainer_most_is_left_to_it() -> None:
    assert image_memory_bytes(8 << 30, None, 0) == 1 << 30
