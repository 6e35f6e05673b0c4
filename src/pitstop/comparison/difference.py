"""The result of a comparison, as one frozen value."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.comparison.record import Disagreement, Place, Resume
from pitstop.comparison.ulps import Ulps
from pitstop.events import EnvironmentChanged


@dataclass(frozen=True)
class StepDifference:
    """The first step whose values are not the same bits.

    Attributes:
        epoch: as Keras counts, in run A.
        loss_a: the loss of run A; NaN when the step returned none.
        ulps: how far the losses are apart, None when one is not finite.
        agreed_step: the step before it that both recorded, 0 when there is none.
    """

    step: int
    fit: int
    epoch: int
    loss_a: float
    loss_b: float
    loss_differs: bool
    ulps: Ulps | None
    agreed_step: int
    first_of_epoch: bool
    differing_steps: int

    @property
    def first_of_run(self) -> bool:
        """Whether no step before it agrees."""
        return self.agreed_step == 0


@dataclass(frozen=True)
class TensorDifference:
    """A variable that is not the same bits.

    Attributes:
        what: "values", "dtype or shape", "only in A" or "only in B".
        differing: how many elements differ, None when they were not counted.
        max_abs_difference: the largest difference of two finite elements,
            None when there is none or the type has no order.
    """

    name: str
    what: str
    differing: int | None = None
    elements: int | None = None
    max_abs_difference: float | None = None


@dataclass(frozen=True)
class CheckpointDifference:
    """The first common checkpoint that does not hold the same.

    Attributes:
        tensors: the variables that differ, in order of their creation; the
            first ones are measured.
        facts: other state that differs, and that the next steps depend on.
        hints: other state that differs, and may do so between equal runs.
    """

    place: Place
    tensors: tuple[TensorDifference, ...] = ()
    facts: tuple[str, ...] = ()
    hints: tuple[str, ...] = ()

    @property
    def decisive(self) -> bool:
        """Whether it makes the runs different."""
        return bool(self.tensors or self.facts)


@dataclass(frozen=True)
class Coverage:
    """What a comparison has looked at.

    Attributes:
        tensors: variables compared in them, all together.
        unreadable: checkpoints that were left out, and why.
    """

    steps: int
    only_a: int
    only_b: int
    checkpoints: tuple[int, ...]
    tensors: int
    unreadable: tuple[str, ...] = ()


@dataclass(frozen=True)
class ComparedSide:
    """One of the two runs, in short."""

    name: str
    completed: bool
    last_step: int
    recomputed_steps: int
    disagreements: tuple[Disagreement, ...]
    resumes: tuple[Resume, ...]
    environment_changes: tuple[EnvironmentChanged, ...]


@dataclass(frozen=True)
class Reason:
    """A likely reason of a difference, and what to do about it."""

    id: str
    text: str
    advice: str


@dataclass(frozen=True)
class Comparison:
    """Two runs side by side.

    Attributes:
        checkpoint: the first common checkpoint that differs; where none is
            decisive, the first that differs at all.
        agreeing_checkpoints: steps of the common checkpoints whose variables
            are all the same bits.
    """

    a: ComparedSide
    b: ComparedSide
    coverage: Coverage
    step: StepDifference | None = None
    checkpoint: CheckpointDifference | None = None
    agreeing_checkpoints: tuple[int, ...] = ()
    environment: tuple[EnvironmentChanged, ...] = ()
    reasons: tuple[Reason, ...] = ()

    @property
    def lengths_differ(self) -> bool:
        """Whether both were trained to the end, and these are not the same step."""
        both = self.a.completed and self.b.completed
        return both and self.a.last_step != self.b.last_step

    @property
    def same(self) -> bool:
        """Whether nothing that was compared differs."""
        checkpoint = self.checkpoint is not None and self.checkpoint.decisive
        return not (self.step or checkpoint or self.lengths_differ)

    @property
    def disagreements(self) -> tuple[Disagreement, ...]:
        """Steps that a run computed twice with different results, of both runs."""
        return self.a.disagreements + self.b.disagreements
