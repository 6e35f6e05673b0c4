"""What a `fit` is given to go on from, and when it must not."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.engine.saved_state import SavedState
from pitstop.engine.session import RestorePoint
from pitstop.errors import PeerFault
from pitstop.events import Event, Notice
from pitstop.keras.continuation import ResumeImpossible
from pitstop.keras.training import Training
from pitstop.tensorflow.variables import VariableRegistry

POINT = RestorePoint("00000007", 7, 0, "")


def training(answer: SavedState | PeerFault, told: list[Event]) -> Training:
    def fetch(_: RestorePoint) -> SavedState:
        if isinstance(answer, PeerFault):
            raise answer
        return answer

    session: Any = SimpleNamespace(fetch=fetch, report=told.append)
    return Training(session, VariableRegistry(), {})


def test_the_state_of_a_fit_is_taken() -> None:
    saved = SavedState({"fit": {}}, {})
    assert training(saved, [])._fetch(POINT) is saved


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (SavedState({"replay": {}}, {}), "saved in a loop of the script's own"),
        (PeerFault("Checkpoint 00000007: it is damaged."), "it is damaged"),
    ],
)
def test_anything_else_ends_the_script_and_is_told(
    answer: SavedState | PeerFault, words: str
) -> None:
    told: list[Event] = []
    with pytest.raises(ResumeImpossible) as caught:
        training(answer, told)._fetch(POINT)
    assert caught.value.code == 2
    (notice,) = told
    assert isinstance(notice, Notice)
    assert notice.code == "resume_refused"
    assert words in notice.message
