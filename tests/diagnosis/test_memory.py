"""The memory in the last moments, in words and in judgement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis.memory import MemoryUse
from pitstop.flight.summary import Summary
from tests.diagnosis.flights import NOTHING_SEEN, growing, steady


def use(flight: Summary) -> MemoryUse:
    found = MemoryUse.of(flight)
    assert found is not None
    return found


def test_nothing_is_known_where_nothing_was_seen() -> None:
    assert MemoryUse.of(None) is None
    assert MemoryUse.of(NOTHING_SEEN) is None


@pytest.mark.parametrize(
    ("left_gb", "short", "ample"), [(0.3, True, False), (1.0, False, False), (3.0, False, True)]
)
def test_how_much_was_left(left_gb: float, short: bool, ample: bool) -> None:
    found = use(steady(3.6, 4.0, left_gb))
    assert (found.is_short, found.is_ample) == (short, ample)


def test_growth() -> None:
    assert use(growing(3.6, 4.0, 0.4)).is_growing
    assert not use(steady(3.6, 4.0, 0.4)).is_growing


def test_a_start_is_no_leak() -> None:
    start = replace(growing(3.6, 4.0, 0.4), ended_seconds=1090.0)
    assert not use(start).is_growing


def test_words() -> None:
    assert use(steady(3.6, 4.0, 0.4, "cgroup")).words == (
        "3.6 GB in use when it was looked at last, 400.0 MB left of the cgroup's 4.0 GB"
    )
    assert use(growing(3.6, 4.0, 0.4)).words.endswith(
        "the machine's 4.0 GB; it had grown from 1.8 GB to 3.6 GB, by 3.0 GB a minute in the end"
    )
