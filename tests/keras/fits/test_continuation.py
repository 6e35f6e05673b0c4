"""A saved state that is not as ours are ends the script; the script's own exceptions come out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.fence import FENCE
from pitstop.engine.leaving import Refused
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.events import Event
from pitstop.keras.fits.continuation import restoring
from pitstop.link.beacon import Phase


class Restoring:
    """A session that restores, and writes down what it is told."""

    def __init__(self, attempt_dir: Path) -> None:
        self.attempt_dir = attempt_dir
        self.reported: list[Event] = []

    def report(self, event: Event) -> None:
        self.reported.append(event)

    def give_up_snapshots(self, error: Exception) -> None:
        raise error

    def phase(self) -> Phase:
        return Phase.RESTORING


@pytest.mark.parametrize("position", [{}, {"step": 1, "more": 2}, [], None, "x"])
def test_a_malformed_state_ends_the_script(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, position: Any
) -> None:
    session = Restoring(tmp_path)
    monkeypatch.setattr(FENCE, "_session", session)
    monkeypatch.setattr(FENCE, "_places", set())
    saved = SavedState({"position": position}, {})
    with pytest.raises(Refused):
        restoring(lambda: saved.position)()
    assert len(session.reported) == 1


def test_what_the_script_raises_comes_out() -> None:
    @restoring
    def read_again() -> None:
        raise KeyError("a generator of the script")

    with pytest.raises(KeyError):
        read_again()
