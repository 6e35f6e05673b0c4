"""Where a drill interrupts: places where resumes go wrong, then random ones.  Pure."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

_CHECKPOINTS_PER_RUN = 16


@dataclass(frozen=True)
class Interruption:
    """One run of the drill and its end.

    Attributes:
        kind: "kill" (SIGKILL, nothing is saved there) or "stop".
        step: the boundary after which it ends.
        place: what is special about the step: "middle", "last step of an
            epoch", "first step", or "random".
    """

    kind: str
    step: int
    place: str

    @property
    def name(self) -> str:
        return f"{self.kind}-at-{self.step}"


def choose(
    last_step: int, epoch_ends: Sequence[int], kills: int, stops: int, seed: int
) -> tuple[Interruption, ...]:
    """Where a run that ends after `last_step` is interrupted; kills first.

    A run with fewer steps than interruptions gets fewer.
    """
    generator = random.Random(seed)
    chosen = []
    named = _named_places(last_step, epoch_ends)
    # Stops begin where kills come last, so that few of both visit more places.
    for kind, count, first in (("kill", kills, named), ("stop", stops, named[::-1])):
        places = islice(_places(last_step, first, generator), count)
        chosen += [Interruption(kind, step, place) for step, place in places]
    return tuple(chosen)


def checkpoint_interval_steps(last_step: int) -> int:
    """Steps between the checkpoints of an interrupted run.

    Often enough that a kill in the middle does not start over.  A kill comes
    before its own step is saved, so that there is always something to compute
    again.
    """
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
