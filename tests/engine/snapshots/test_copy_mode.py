"""Large states are copied beside a step only if that is over before the step updates them."""

from __future__ import annotations

import pytest

from pitstop.engine.snapshots.copier import (
    BESIDE_SHARE,
    LARGE_BYTES,
    is_copied_before,
    most_lost_beside,
)


@pytest.mark.parametrize("copy_seconds", [0.0, 0.01, 10.0])
def test_training_never_waits_for_a_small_state(copy_seconds: float) -> None:
    assert not is_copied_before(LARGE_BYTES - 1, copy_seconds, 0.001)


@pytest.mark.parametrize(("copy_seconds", "step_seconds"), [(0.0, 1.0), (0.1, 0.0), (0.0, 0.0)])
def test_it_waits_while_too_little_is_known(copy_seconds: float, step_seconds: float) -> None:
    assert is_copied_before(LARGE_BYTES, copy_seconds, step_seconds)


def test_it_waits_when_the_copy_would_reach_into_the_updates() -> None:
    assert is_copied_before(LARGE_BYTES, 0.1, 0.1)
    assert is_copied_before(LARGE_BYTES, 0.1, 0.099 / BESIDE_SHARE)
    assert not is_copied_before(LARGE_BYTES, 0.1, 0.101 / BESIDE_SHARE)


def test_a_copy_beside_the_steps_costs_them_no_more_than_it_takes() -> None:
    assert most_lost_beside(9_000, 0.001, 1.0) == pytest.approx(0.006)
    assert most_lost_beside(200_000_000, 0.06, 0.5) == pytest.approx(0.065)


def test_a_copy_that_reaches_into_the_updates_costs_fresh_memory_too() -> None:
    assert most_lost_beside(200_000_000, 0.06, 0.06) == pytest.approx(0.265)
    assert most_lost_beside(9_000, 0.001, 0.0005) == pytest.approx(0.006, abs=1e-4)


@pytest.mark.parametrize("copy_seconds", [0.0, 0.01, 10.0])
@pytest.mark.parametrize("size_bytes", [1, LARGE_BYTES])
def test_on_a_gpu_its_free_memory_decides(size_bytes: int, copy_seconds: float) -> None:
    assert is_copied_before(size_bytes, copy_seconds, 1.0, size_bytes - 1)
    assert not is_copied_before(size_bytes, copy_seconds, 1.0, size_bytes)
