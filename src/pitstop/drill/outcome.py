"""What a drill found, as frozen values."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from pitstop.comparison import Comparison
from pitstop.drill.aftermath import NOTHING_TOLD, Aftermath
from pitstop.drill.points import Interruption


class DrillVerdict(enum.Enum):
    """What a drill proves; the value is the name in JSON."""

    EXACT = "exact"
    NOT_EXACT = "not_exact"
    NOT_REPRODUCIBLE = "not_reproducible"


@dataclass(frozen=True)
class Trial:
    """One interrupted and resumed run.

    Attributes:
        resumed_at_step: the step it went on from, 0 when it started over.
        level: how exact the resume said it is, empty when it started over.
        comparison: with the uninterrupted run, None when it failed.
        failure: what went wrong, empty when it reached its end.
    """

    interruption: Interruption
    run_dir: str
    resumed_at_step: int
    lost_steps: int
    level: str
    seconds: float
    comparison: Comparison | None
    failure: str = ""
    aftermath: Aftermath = NOTHING_TOLD

    @property
    def identical(self) -> bool:
        """Whether it is the uninterrupted run, bit for bit."""
        found = self.comparison
        whole = found is not None and found.same and not found.disagreements
        return whole and not self.failure


@dataclass(frozen=True)
class Drill:
    """The whole drill.

    Attributes:
        uninterrupted: folder of the run that all are compared with.
        repetition: the same once more without interruption, compared with it;
            made only when some trial was not identical.
    """

    uninterrupted: str
    last_step: int
    seconds: float
    trials: tuple[Trial, ...]
    repetition: Comparison | None = None

    @property
    def verdict(self) -> DrillVerdict:
        """What the trials prove."""
        if all(trial.identical for trial in self.trials):
            return DrillVerdict.EXACT
        if self.repetition is not None and not self.repetition.same:
            return DrillVerdict.NOT_REPRODUCIBLE
        return DrillVerdict.NOT_EXACT
