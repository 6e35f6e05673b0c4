"""Small cuts whose bytes follow from their step."""

from __future__ import annotations

import random
from collections.abc import Callable

from pitstop.engine.snapshots.state_capture import HeldTensor, Position, StateCapture
from pitstop.store.image import TensorSpec


def position(step: int, milestone: str = "") -> Position:
    return Position(step, fit=0, epoch=1, step_in_epoch=step, milestone=milestone)


def value(step: int, size_bytes: int = 1000) -> bytes:
    return random.Random(step).randbytes(size_bytes)


def cut(
    step: int, size_bytes: int = 1000, read: Callable[[], memoryview] | None = None
) -> StateCapture:
    """A cut with one large tensor, whose reading may be taken over, and a small one."""
    data = memoryview(value(step, size_bytes))
    tensors = (
        HeldTensor(TensorSpec("kernel", "U8", (size_bytes,)), read or (lambda: data)),
        HeldTensor(TensorSpec("count", "I64", ()), lambda: memoryview(step.to_bytes(8, "little"))),
    )
    state = {"position": dict(vars(position(step))), "level": {"level": "exact"}, "versions": {}}
    return StateCapture(position(step), tensors, state)
