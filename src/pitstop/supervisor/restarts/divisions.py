"""After a failure for want of memory: the steps of the next attempt are computed in more parts.

How many parts is in the journal, and only there: every later attempt of the run has them.
"""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.events import BatchDivided, DivisionRefused, Event, Notice, Restored, TrainerExited
from pitstop.journal import Entry
from pitstop.link.settings import NOT_DIVIDED
from pitstop.supervisor.records.history import batch_parts

WANT_OF_MEMORY = frozenset({"host_oom_killed", "host_alloc_failure", "gpu_oom"})
"""The causes that a smaller step may help against."""

MOST_PARTS = 64
_STEPPING = ("first_step", "train", "restoring")
_SOON_STEPS = 50
"""A step that needs too much fails at once, or when it meets the first large batch."""


def decide(cause: str, entries: Sequence[Entry]) -> BatchDivided | DivisionRefused:
    """What to do after the last attempt failed for want of memory.

    Args:
        cause: of the failure, one of `WANT_OF_MEMORY`.
        entries: the journal of the run.
    """
    own: list[Event] = [each.event for each in entries if each.attempt == entries[-1].attempt]
    exits = [each for each in own if isinstance(each, TrainerExited)]
    begun = max((each.step for each in own if isinstance(each, Restored)), default=0)
    parts = 2 * batch_parts(entries)
    if any(isinstance(each, Notice) and each.code == NOT_DIVIDED for each in own):
        return DivisionRefused("its steps cannot be computed in parts")
    if not exits or exits[-1].phase not in _STEPPING:
        return DivisionRefused("the memory was used up outside of a training step")
    steps = exits[-1].step - begun
    if cause == "host_oom_killed" and steps > _SOON_STEPS:
        return DivisionRefused(f"the memory grew for {steps} steps: the batch is not what fills it")
    if parts > MOST_PARTS:
        return DivisionRefused(f"{MOST_PARTS} parts of a batch need too much as well")
    return BatchDivided(cause, exits[-1].step + 1, parts)
