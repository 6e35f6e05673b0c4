"""The end of the last epoch, kept beside an outcome."""

from __future__ import annotations

from typing import Any

import numpy as np

from pitstop.engine.last_epoch import beside, to_go_on_from
from pitstop.engine.saved_state import SavedState
from pitstop.engine.state_capture import HeldTensor, Position, StateCapture


def cut(stage: str, **values: list[float]) -> StateCapture:
    position = Position(8, 0, 1, 4, stage, "" if stage == "epoch_end" else "fit_end")
    tensors = tuple(HeldTensor.of_array(name, np.array(each)) for name, each in values.items())
    fit = {"stop_training": False, "raised": None}
    state = {"position": dict(vars(position)), "fit": fit, "versions": {"keras": "3"}}
    return StateCapture(position, tensors, state)


def saved(kept: StateCapture, **fit: Any) -> SavedState:
    state = {**kept.state, "fit": {**kept.state["fit"], **fit}}
    return SavedState(state, {each.spec.name: each.read() for each in kept.tensors})


def test_only_what_differs_is_kept_twice() -> None:
    last = cut("epoch_end", weights=[1.0, 2.0], moved=[3.0], empty=[])
    outcome = cut("steps", weights=[1.0, 2.0], moved=[4.0], empty=[])
    kept = beside(outcome, last)
    assert [each.spec.name for each in kept.tensors][3:] == ["last_epoch/moved"]
    assert set(kept.state["last_epoch"]) == {"position"}
    assert kept.position == outcome.position


def test_a_training_goes_on_from_the_end_of_its_last_epoch() -> None:
    last = cut("epoch_end", weights=[1.0], moved=[3.0])
    found = to_go_on_from(saved(beside(cut("steps", weights=[1.0], moved=[4.0]), last)))
    assert found is not None
    assert found.position == last.position
    assert {name: np.frombuffer(data) for name, data in found.tensors.items()}["moved"] == [3.0]
    assert bytes(found.tensors["weights"]) == np.array([1.0]).tobytes()


def test_a_training_that_stopped_by_itself_stays_as_it_ended() -> None:
    kept = saved(beside(cut("steps"), cut("epoch_end")), stop_training=True)
    assert to_go_on_from(kept) is kept


def test_without_the_end_of_an_epoch_there_is_nothing_to_go_on_from() -> None:
    assert to_go_on_from(saved(cut("steps"))) is None
    raised = saved(cut("steps"), stop_training=True, raised={"class": "ValueError"})
    assert to_go_on_from(raised) is None
