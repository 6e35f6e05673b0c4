"""The result of a comparison, as one frozen value; and how two saved variables differ."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pitstop.comparison.record import Disagreement, Resume, Saved
from pitstop.engine.snapshots.state_capture import Position
from pitstop.events import EnvironmentChanged
from pitstop.record import Frozen
from pitstop.store.image import DTYPE_NAMES
from pitstop.store.reader import read_tensor

_NOT_MEASURED = ("BOOL", "F8_E4M3", "F8_E5M2")  # It has no distances, or NumPy does not know it.


def values(data: bytes, dtype: str) -> NDArray[Any] | None:
    if dtype == "BF16":  # the upper half of a float32
        upper = np.frombuffer(data, "<u2").astype("<u4")
        return (upper << 16).view("<f4")
    return None if dtype in _NOT_MEASURED else np.frombuffer(data, DTYPE_NAMES[dtype])


def largest_difference(one: NDArray[Any] | None, other: NDArray[Any] | None) -> float | None:
    if one is None or other is None:
        return None
    before, after = one.astype(np.float64), other.astype(np.float64)
    finite = np.isfinite(before) & np.isfinite(after)
    return float(np.abs(before[finite] - after[finite]).max()) if finite.any() else None


def _differing(before: bytes, after: bytes, elements: int) -> int:
    width_bytes = len(before) // max(elements, 1)
    pair = [
        np.frombuffer(data, np.uint8).reshape(elements, width_bytes) for data in (before, after)
    ]
    return int((pair[0] != pair[1]).any(axis=1).sum())


class Ulps(Frozen):
    """A distance of two numbers: how many steps, in which format ("float32" or "float64").

    Two numbers of one format are n units in the last place apart when n - 1 other numbers of that
    format lie between them.  IEEE 754 orders the bit patterns of numbers of one sign as integers,
    so that the count is a subtraction.
    """

    count: int
    format: str


def ulps_apart(one: float, other: float) -> Ulps | None:
    pair = np.array([one, other])
    if not np.isfinite(pair).all():
        return None
    with np.errstate(over="ignore"):
        single = pair.astype(np.float32)
    if np.array_equal(single, pair):
        return Ulps(_places_apart(single, np.int32), "float32")
    return Ulps(_places_apart(pair, np.int64), "float64")


def _places_apart(pair: NDArray[Any], integer: type) -> int:
    one, other = (int(np.sign(each)) * int(abs(each).view(integer)) for each in pair)
    return abs(one - other)


class StepDifference(Frozen):
    """The first step whose values are not the same bits."""

    step: int
    fit: int
    epoch: int  # as Keras counts, in run A
    loss_a: float  # the loss of run A; NaN when the step returned none
    loss_b: float
    loss_differs: bool
    ulps: Ulps | None  # how far the losses are apart, None when one is not finite
    agreed_step: int  # the step before it that both recorded, 0 when there is none
    first_of_epoch: bool
    differing_steps: int

    @property
    def first_of_run(self) -> bool:
        return self.agreed_step == 0


class TensorDifference(Frozen):
    """A variable whose bits differ."""

    name: str
    what: str  # "values", "dtype or shape", "only in A" or "only in B"
    differing: int | None = None  # elements that differ, None if they were not counted
    elements: int | None = None
    max_abs_difference: float | None = None  # of finite elements; None for types without a distance


def measure(name: str, one: Saved, other: Saved) -> TensorDifference:
    """How two values of one variable differ; raises `CheckpointCorrupt` or `EnvironmentFault`."""
    entry = one.tensors[name]
    before = read_tensor(one.path, one.manifest, name)
    after = read_tensor(other.path, other.manifest, name)
    elements = math.prod(entry.shape)
    return TensorDifference(
        name,
        "values",
        differing=_differing(before, after, elements),
        elements=elements,
        max_abs_difference=largest_difference(
            values(before, entry.dtype), values(after, entry.dtype)
        ),
    )


class CheckpointDifference(Frozen):
    """The first common checkpoint whose content differs."""

    place: Position
    tensors: tuple[TensorDifference, ...] = ()  # in order of creation; the first ones are measured
    facts: tuple[str, ...] = ()  # other state that the next steps depend on
    hints: tuple[str, ...] = ()  # other state, which may differ between equal runs

    @property
    def decisive(self) -> bool:
        return bool(self.tensors or self.facts)


class Coverage(Frozen):
    """What a comparison has looked at; `unreadable`: checkpoints that were left out, and why."""

    steps: int
    only_a: int
    only_b: int
    checkpoints: tuple[int, ...]
    tensors: int
    unreadable: tuple[str, ...] = ()


class ComparedSide(Frozen):
    name: str
    completed: bool
    last_step: int
    recomputed_steps: int
    disagreements: tuple[Disagreement, ...]
    resumes: tuple[Resume, ...]
    environment_changes: tuple[EnvironmentChanged, ...]


class Reason(Frozen):
    id: str
    text: str
    advice: str


class Comparison(Frozen):
    a: ComparedSide
    b: ComparedSide
    coverage: Coverage
    step: StepDifference | None = None
    checkpoint: CheckpointDifference | None = None  # the first decisive one, else one with hints
    agreeing_checkpoints: tuple[int, ...] = ()  # steps of those whose variables all agree
    environment: tuple[EnvironmentChanged, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def lengths_differ(self) -> bool:
        """Whether both were trained to the end, and these are not the same step."""
        both = self.a.completed and self.b.completed
        return both and self.a.last_step != self.b.last_step

    @property
    def same(self) -> bool:
        checkpoint = self.checkpoint is not None and self.checkpoint.decisive
        return not (self.step or checkpoint or self.lengths_differ)

    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        return self.a.disagreements + self.b.disagreements
