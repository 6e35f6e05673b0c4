"""What a drill found, as frozen values."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.comparison import Comparison
from pitstop.drill.points import Interruption
from pitstop.events import AttemptStarted, CheckpointCommitted, Event, LevelKnown, Notice

_REFUSED = "resume_refused"


@dataclass(frozen=True)
class Aftermath:
    """What stood when a run was interrupted, if anything, and why its resume was not exact."""

    saved_step: int = 0
    said: str = ""


NOTHING_TOLD = Aftermath()


def aftermath(events: Sequence[Event]) -> Aftermath:
    begins = [place for place, event in enumerate(events) if isinstance(event, AttemptStarted)]
    last = begins[-1] if begins else 0
    saved = [event.step for event in events[:last] if isinstance(event, CheckpointCommitted)]
    return Aftermath(max(saved, default=0), _said(events[last:]))


def _said(events: Sequence[Event]) -> str:
    refused = [e.message for e in events if isinstance(e, Notice) and e.code == _REFUSED]
    levels = [e.reason for e in events if isinstance(e, LevelKnown) and e.level == "not_exact"]
    return next(iter(refused + levels[-1:]), "")


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
        if all(trial.identical for trial in self.trials):
            return DrillVerdict.EXACT
        if self.repetition is not None and not self.repetition.same:
            return DrillVerdict.NOT_REPRODUCIBLE
        return DrillVerdict.NOT_EXACT
