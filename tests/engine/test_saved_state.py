"""A saved state is mapped from descriptors, which are closed."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest

from pitstop.engine.saved_state import open_saved_state
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
