"""How long the end of an attempt waits for its mirror."""

from __future__ import annotations

import math

import pytest

from pitstop.supervisor.helpers.mirroring import LEAST_PATIENCE_SECONDS, patience_seconds


@pytest.mark.parametrize(
    ("waited", "grace", "left", "patience"),
    [
        (None, 30.0, None, math.inf),
        (None, 30.0, 12.0, 12.0),
        (2.0, 30.0, None, 28.0),
        (2.0, 30.0, 10.0, 10.0),
        (40.0, 30.0, None, LEAST_PATIENCE_SECONDS),
        (40.0, 30.0, 1.0, 1.0),
        (2.0, 30.0, -4.0, 0.0),
    ],
)
def test_patience(waited: float | None, grace: float, left: float | None, patience: float) -> None:
    assert patience_seconds(waited, grace, left) == patience
