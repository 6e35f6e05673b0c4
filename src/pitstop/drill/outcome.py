"""Where a drill interrupts, and what it found, as frozen values.  Pure."""

import enum
import random
from collections.abc import Iterator, Sequence
from itertools import islice

from pitstop.comparison import Comparison
from pitstop.events import AttemptStarted, CheckpointCommitted, Event, LevelKnown, Notice
from pitstop.record import Frozen

_CHECKPOINTS_PER_RUN = 16


class Interruption(Frozen):
    kind: str  # "kill" (SIGKILL, nothing is saved there) or "stop"
    step: int  # the boundary after which it ends
    place: str  # "middle", "last step of an epoch", "first step", or "random"

    @property
    def name(self) -> str:
        return f"{self.kind}-at-{self.step}"


def choose(
    last_step: int, epoch_ends: Sequence[int], kills: int, stops: int, seed: int
) -> tuple[Interruption, ...]:
    """Where a run that ends after `last_step` is interrupted; kills first."""
    generator = random.Random(seed)
    chosen = []
    named = _named_places(last_step, epoch_ends)
    # Stops begin where kills come last, so that few of both visit more places.
    for kind, count, first in (("kill", kills, named), ("stop", stops, named[::-1])):
        places = islice(_places(last_step, first, generator), count)
        chosen += [Interruption(kind, step, place) for step, place in places]
    return tuple(chosen)


def checkpoint_interval_steps(last_step: int) -> int:
    """Steps between the checkpoints of an interrupted run: often enough not to start over."""
    return max(1, last_step // _CHECKPOINTS_PER_RUN)


def _named_places(last_step: int, epoch_ends: Sequence[int]) -> list[tuple[int, str]]:
    ends = [step for step in epoch_ends if step < last_step]
    end = [(ends[len(ends) // 2], "last step of an epoch")] if ends else []
    return [((last_step + 1) // 2, "middle"), *end, (1, "first step")]


def _places(
    last_step: int, named: Sequence[tuple[int, str]], generator: random.Random
) -> Iterator[tuple[int, str]]:
    # The last step is no interruption: nothing is left to train after it.
    open_steps = set(range(1, last_step))
    for step, place in named:
        if step in open_steps:
            open_steps.remove(step)
            yield step, place
    rest = sorted(open_steps)
    generator.shuffle(rest)
    for step in rest:
        yield step, "random"


_REFUSED = "resume_refused"


class Aftermath(Frozen):
    """The last step saved before an interruption, 0 for none, and why its resume was not exact."""

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


class Trial(Frozen):
    interruption: Interruption
    run_dir: str
    resumed_at_step: int  # the step it went on from, 0 when it started over
    lost_steps: int
    level: str  # how exact the resume said it is, empty when it started over
    seconds: float
    comparison: Comparison | None  # with the uninterrupted run, None when it failed
    failure: str = ""  # what went wrong, empty when it reached its end
    aftermath: Aftermath = NOTHING_TOLD

    @property
    def identical(self) -> bool:
        found = self.comparison
        whole = found is not None and found.same and not found.disagreements
        return whole and not self.failure


class Drill(Frozen):
    uninterrupted: str  # folder of the run that all are compared with
    last_step: int
    seconds: float
    trials: tuple[Trial, ...]
    repetition: Comparison | None = None  # without interruption; made if a trial was not identical

    @property
    def verdict(self) -> DrillVerdict:
        if all(trial.identical for trial in self.trials):
            return DrillVerdict.EXACT
        if self.repetition is not None and not self.repetition.same:
            return DrillVerdict.NOT_REPRODUCIBLE
        return DrillVerdict.NOT_EXACT
