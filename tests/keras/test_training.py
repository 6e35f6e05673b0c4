"""What a `fit` is given to go on from, and when it must not."""

from __future__ import annotations

from types import MethodType, SimpleNamespace
from typing import Any

import keras
import pytest

from pitstop.engine.leaving import Refused
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.trainings.identity import RestorePoint
from pitstop.errors import PeerFault
from pitstop.events import Event, Notice
from pitstop.keras.training import Training
from pitstop.link.settings import Settings
from pitstop.tensorflow.variables.variables import no_path

POINT = RestorePoint("00000007", 7, 0, "")


def training(answer: SavedState | PeerFault, told: list[Event]) -> Training:
    def fetch(_: RestorePoint) -> SavedState:
        if isinstance(answer, PeerFault):
            raise answer
        return answer

    session: Any = SimpleNamespace(fetch=fetch, report=told.append, settings=Settings())
    session.refuse = MethodType(Session.refuse, session)
    return Training(session, {})


def test_the_state_of_a_fit_is_taken() -> None:
    saved = SavedState({"fit": {}}, {})
    assert training(saved, [])._fetch(POINT) is saved


def test_the_state_of_a_loop_ends_the_script_and_is_told() -> None:
    told: list[Event] = []
    with pytest.raises(Refused) as caught:
        training(SavedState({"replay": {}}, {}), told)._fetch(POINT)
    assert caught.value.code == 2
    (notice,) = told
    assert isinstance(notice, Notice)
    assert notice.code == "resume_refused"
    assert "saved in a custom loop" in notice.message


def test_what_does_not_load_ends_the_script() -> None:
    """The session has told why."""
    with pytest.raises(Refused):
        training(PeerFault("Checkpoint 00000007: it is damaged."), [])._fetch(POINT)


def test_the_level_is_told_when_an_exception_ends_a_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    """A callback may have met what makes it not exact, and then failed of it."""
    told: list[str] = []
    watched = training(SavedState({}, {}), [])
    snapshots = SimpleNamespace(stopped=False, alone=False)
    vars(watched.session).update(snapshots=snapshots, kernel=False)
    run: Any = SimpleNamespace(
        model=keras.Sequential([keras.Input((1,))]),
        position=SimpleNamespace(step=3),
        parts=SimpleNamespace(deviation=""),
        path_of=no_path,
        tell_level=lambda: told.append("the level"),
        note_read_ahead=lambda: None,
    )
    monkeypatch.setattr(watched, "_begin", lambda *_: setattr(watched, "run", run))
    monkeypatch.setattr(watched, "_caught", SimpleNamespace(hold=lambda *_, **__: None))

    def fails(*_: Any, **__: Any) -> None:
        raise FileExistsError

    with pytest.raises(FileExistsError):
        watched.fit(fails, run.model, x=None)
    assert told == ["the level"]
