"""Large states are copied beside a step only if that is over before the step updates them."""

from __future__ import annotations

import pytest

from pitstop.engine.copier import BESIDE_SHARE, LARGE_BYTES, is_copied_before


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
