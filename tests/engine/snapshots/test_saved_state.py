"""A saved state is mapped from descriptors, which are closed."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np
import pytest

from pitstop.engine.snapshots.saved_state import SavedState, beside, open_saved_state, to_go_on_from
from pitstop.engine.snapshots.state_capture import HeldTensor, Position, StateCapture
from tests.engine.samples import cut


def file_of(data: bytes) -> int:
    fd = os.memfd_create("image")
    os.write(fd, data)
    return fd


def image_of(step: int) -> list[int]:
    """Descriptors as the persister hands them over: of a table and of two files."""
    by_name = {tensor.spec.name: bytes(tensor.read()) for tensor in cut(step).tensors}
    kernel, count = by_name["kernel"], by_name["count"]
    ranges = {
        "kernel": [(0, 8, 300), (1, 0, len(kernel) - 300)],
        "count": [(0, 0, len(count))],
        "empty": [],
    }
    state = b'{"position": {"step": %d, "fit": 0, "epoch": 1, "step_in_epoch": 2}}' % step
    table = json.dumps(ranges).encode() + b"\n" + state
    return [file_of(table), file_of(count + kernel[:300]), file_of(kernel[300:])]


def assert_closed(fds: list[int]) -> None:
    for fd in fds:
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)


def test_tensors_and_position() -> None:
    fds = image_of(9)
    saved = open_saved_state(fds)
    assert_closed(fds)
    assert saved.position.step == 9
    assert saved.position.milestone == ""
    assert sorted(saved.tensors) == ["count", "empty", "kernel"]
    assert len(saved.tensors) == 3
    assert np.frombuffer(saved.tensors["count"], np.int64).tolist() == [9]


def test_a_tensor_of_several_files_is_put_together() -> None:
    tensors = open_saved_state(image_of(9)).tensors
    assert bytes(tensors["kernel"]) == bytes(cut(9).tensors[0].read())
    assert bytes(tensors["empty"]) == b""


@pytest.mark.parametrize("name", ["kernel", "count"])
def test_tensors_cannot_be_changed(name: str) -> None:
    with pytest.raises(TypeError, match="read-only"):
        open_saved_state(image_of(9)).tensors[name][0] = 1


def test_half_a_table_is_a_fault_and_nothing_stays_open() -> None:
    fds = image_of(9)
    os.ftruncate(fds[0], 40)
    with pytest.raises(ValueError, match=r"unpack|line 1"):
        open_saved_state(fds)
    assert_closed(fds)


def last_cut(stage: str, **values: list[float]) -> StateCapture:
    position = Position(8, 0, 1, 4, stage, "" if stage == "epoch_end" else "fit_end")
    tensors = tuple(HeldTensor.of_array(name, np.array(each)) for name, each in values.items())
    fit = {"stop_training": False, "raised": None}
    state = {"position": dict(vars(position)), "fit": fit, "versions": {"keras": "3"}}
    return StateCapture(position, tensors, state)


def saved(kept: StateCapture, **fit: Any) -> SavedState:
    state = {**kept.state, "fit": {**kept.state["fit"], **fit}}
    return SavedState(state, {each.spec.name: each.read() for each in kept.tensors})


def test_only_what_differs_is_kept_twice() -> None:
    last = last_cut("epoch_end", weights=[1.0, 2.0], moved=[3.0], empty=[])
    outcome = last_cut("steps", weights=[1.0, 2.0], moved=[4.0], empty=[])
    kept = beside(outcome, last)
    assert [each.spec.name for each in kept.tensors][3:] == ["last_epoch/moved"]
    assert set(kept.state["last_epoch"]) == {"position"}
    assert kept.position == outcome.position


def test_a_training_goes_on_from_the_end_of_its_last_epoch() -> None:
    last = last_cut("epoch_end", weights=[1.0], moved=[3.0])
    found = to_go_on_from(saved(beside(last_cut("steps", weights=[1.0], moved=[4.0]), last)))
    assert found is not None
    assert found.position == last.position
    assert {name: np.frombuffer(data) for name, data in found.tensors.items()}["moved"] == [3.0]
    assert bytes(found.tensors["weights"]) == np.array([1.0]).tobytes()


def test_a_training_that_stopped_by_itself_stays_as_it_ended() -> None:
    kept = saved(beside(last_cut("steps"), last_cut("epoch_end")), stop_training=True)
    assert to_go_on_from(kept) is kept


def test_without_the_end_of_an_epoch_there_is_nothing_to_go_on_from() -> None:
    assert to_go_on_from(saved(last_cut("steps"))) is None
    raised = saved(last_cut("steps"), stop_training=True, raised={"class": "ValueError"})
    assert to_go_on_from(raised) is None
