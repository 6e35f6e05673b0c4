"""Which epoch of a run is the best."""

from __future__ import annotations

import math

from pitstop.events import EpochEnded
from pitstop.supervisor.records.history import BestEpoch, best_of


def _epochs(*logs: dict[str, float]) -> list[EpochEnded]:
    return [EpochEnded(0, epoch, 1, 1, each) for epoch, each in enumerate(logs)]


def test_the_least_loss_wins_and_validation_says_more() -> None:
    assert best_of(()) is None
    found = best_of(_epochs({"loss": 3.0}, {"loss": 1.0}, {"loss": 2.0}, {"loss": math.nan}))
    assert found == BestEpoch("loss", 1.0, 1)
    found = best_of(_epochs({"loss": 1.0}, {"loss": 0.5, "val_loss": 4.0}, {"val_loss": 5.0}))
    assert found == BestEpoch("val_loss", 4.0, 1)
    assert best_of(_epochs({"accuracy": 1.0})) is None
