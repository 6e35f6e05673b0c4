"""Attempts that are closed again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.trainings import present_identity
from pitstop.engine.trainings.identity import Identity
from tests.replay.attempt import Attempt

MakeAttempt = Callable[..., Attempt]


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[MakeAttempt]:
    # Two attempts of one script stand in two lines of a test.
    site = Identity(frames=("script.py:<module>:step:0",), counters=("number=0",), complete=True)
    monkeypatch.setattr(present_identity, "site_of", lambda _stack: site)
    made: list[Attempt] = []

    def make_one(saved: SavedState | None = None) -> Attempt:
        made.append(Attempt(tmp_path, saved))
        return made[-1]

    yield make_one
    for attempt in made:
        attempt.close()
