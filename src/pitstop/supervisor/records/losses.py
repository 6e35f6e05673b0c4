"""How often the run lost its memory: the whole machine or container, not a process.  Pure.

A snapshot in memory survives the trainer, and the supervisor too: the persister
saves it.  Only what ends all three at once takes a run back to its last durable
checkpoint, so only that tells how often checkpoints are worth writing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from pitstop.events import AttemptEnded, AttemptStarted, Event, StopRequested
from pitstop.journal import Entry
from pitstop.record import record


@record
class Losses:
    """How many attempts ended without a word of supervisor or persister, and how long all ran."""

    count: int = 0
    observed_seconds: float = 0.0

    @classmethod
    def from_entries(cls, entries: Sequence[Entry]) -> Losses:
        """From the journal, none of whose attempts is still running."""
        attempts: dict[int, list[Entry]] = {}
        for entry in entries:
            attempts.setdefault(entry.attempt, []).append(entry)
        return cls(
            sum(_was_lost(own) for own in attempts.values()),
            sum(map(_seconds, attempts.values())),
        )

    def mean_seconds(self, running_seconds: float = 0.0) -> float:
        """The mean time between two losses, the present attempt counted; infinite without any."""
        if not self.count:
            return math.inf
        return (self.observed_seconds + running_seconds) / self.count


NO_LOSSES = Losses()
"""Of a run that begins."""


def optimal_interval_seconds(cost_seconds: float, mean_seconds: float) -> float:
    """The time between checkpoints that loses least, to first order: sqrt(2 C M) - C.

    C is what a checkpoint costs, M the mean time between losses.  J. T. Daly, "A higher order
    estimate of the optimum checkpoint interval for restart dumps", Future Generation Computer
    Systems 22 (2006) 303-312, after J. W. Young, "A first order approximation to the optimum
    checkpoint interval", Communications of the ACM 17 (1974) 530-531.  For a cost of 2 M or more
    Daly's answer is M.
    """
    if cost_seconds >= 2 * mean_seconds:
        return mean_seconds
    return math.sqrt(2 * cost_seconds * mean_seconds) - cost_seconds


def _was_lost(own: Sequence[Entry]) -> bool:
    events = [entry.event for entry in own]
    started = any(isinstance(event, AttemptStarted) for event in events)
    return started and not any(map(_tells_of_the_end, events))


def _tells_of_the_end(event: Event) -> bool:
    # The second is the persister's word, which then saves in the supervisor's stead.
    return isinstance(event, AttemptEnded) or (
        isinstance(event, StopRequested) and event.source == "supervisor_lost"
    )


def _seconds(own: Sequence[Entry]) -> float:
    # A clock that was set back must not make the time negative.
    return max(0.0, own[-1].time_seconds - own[0].time_seconds)
