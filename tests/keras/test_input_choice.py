"""A state that is too dear to save at every snapshot is replaced by a replay."""

from __future__ import annotations

import pytest

from pitstop.keras.input_choice import CaptureCost, Pipeline, costs_too_much, reason

EPOCHS_ANEW = Pipeline(repeatable=True, renewed=True)


@pytest.mark.parametrize(
    ("seconds", "snapshot_seconds", "overhead", "expected"),
    [
        # At 1 %, half of it for snapshots, 0.3 s can be spent once a minute.
        (0.31, 0.4, 0.01, True),
        (0.29, 0.4, 0.01, False),
        (0.31, 1.3, 0.01, False),
        (0.31, 0.4, 0.02, False),
        (1.5, 1.6, 0.02, True),
        (0.0, 0.0, 0.01, False),
    ],
)
def test_what_costs_too_much(
    seconds: float, snapshot_seconds: float, overhead: float, expected: bool
) -> None:
    cost = CaptureCost(seconds, 100, snapshot_seconds)
    assert costs_too_much(cost, EPOCHS_ANEW, overhead) is expected


@pytest.mark.parametrize(
    "pipeline", [Pipeline(repeatable=False, renewed=True), Pipeline(repeatable=True, renewed=False)]
)
def test_a_replay_must_be_exact_and_bounded(pipeline: Pipeline) -> None:
    assert not costs_too_much(CaptureCost(9.0, 100, 9.0), pipeline, 0.01)


def test_the_user_is_told_the_cost() -> None:
    assert "1.5 s and 123 MB" in reason(CaptureCost(1.46, 123_000_000, 1.5))
