"""A saved state is mapped from a descriptor, which is closed."""

from __future__ import annotations

import os

import numpy as np
import pytest

from pitstop.engine.saved_state import open_saved_state
from pitstop.errors import InternalFault
from pitstop.snapshot import slot
from pitstop.store.image import plan_image
from tests.engine.samples import cut


def image_of(step: int) -> int:
    """A descriptor as the persister hands it over."""
    taken = cut(step)
    image = plan_image([tensor.spec for tensor in taken.tensors])
    by_name = {tensor.spec.name: tensor.read() for tensor in taken.tensors}
    tensors = [by_name[place.spec.name] for place in image.placements]
    state = b'{"position": {"step": %d, "fit": 0, "epoch": 1, "step_in_epoch": 2}}' % step
    content = bytearray(slot.HEAD_BYTES + image.size_bytes + len(state))
    slot.write_slot(memoryview(content), 1, step, image, tensors, state)
    fd = os.memfd_create("image")
    os.write(fd, content)
    return fd


def test_tensors_and_position() -> None:
    fd = image_of(9)
    saved = open_saved_state(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
    assert saved.position.step == 9
    assert saved.position.milestone == ""
    assert np.frombuffer(saved.tensors["count"], np.int64).tolist() == [9]


def test_tensors_cannot_be_changed() -> None:
    with pytest.raises(TypeError, match="read-only"):
        open_saved_state(image_of(9)).tensors["count"][0] = 1


def test_half_a_slot_is_a_fault_and_nothing_stays_open() -> None:
    fd = image_of(9)
    os.pwrite(fd, b"\0", 0)
    with pytest.raises(InternalFault):
        open_saved_state(fd)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)
