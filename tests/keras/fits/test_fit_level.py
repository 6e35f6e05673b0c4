"""A fit is as exact as its weakest part, and what is not restored is named."""

from __future__ import annotations

import pytest

from pitstop.engine.exactness import EXACT, Exactness
from pitstop.keras.fits.fit_level import FitLevel

_REPLAY = Exactness("exact_by_replay", "Python code")
_RACED = Exactness("not_exact", "raced")


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([EXACT, EXACT], EXACT),
        ([_REPLAY, EXACT], _REPLAY),
        ([EXACT, _RACED], _RACED),
        ([_REPLAY, _RACED], _RACED),
    ],
)
def test_the_weakest_part_counts(parts: list[Exactness], expected: Exactness) -> None:
    assert FitLevel().with_parts(parts) == expected


def test_what_is_not_restored_makes_it_not_exact_and_is_named() -> None:
    level = FitLevel()
    level.unverified = ["Mine.queue", "Mine.lock", "a", "b", "c"]
    found = level.with_parts([EXACT])
    assert found.level == "not_exact"
    assert all(name in found.reason for name in ("Mine.queue", "Mine.lock", "2 more"))


def test_a_generator_shared_with_callbacks_counts_where_the_input_is_replayed() -> None:
    level = FitLevel()
    level.shared = _RACED
    assert level.with_parts([EXACT]) == EXACT
    assert level.with_parts([_REPLAY]) == _RACED
