"""Attempts that are closed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pitstop.engine.saved_state import SavedState
from tests.replay.attempt import Attempt

MakeAttempt = Callable[..., Attempt]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeAttempt]:
    made: list[Attempt] = []

    def make_one(saved: SavedState | None = None) -> Attempt:
        made.append(Attempt(tmp_path, saved))
        return made[-1]

    yield make_one
    for attempt in made:
        attempt.close()
