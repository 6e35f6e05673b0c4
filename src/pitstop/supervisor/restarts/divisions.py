"""After a failure for want of memory: the next attempt holds less of its input, or of its batch.

What was made smaller is in the journal only, and holds for every later attempt of the run.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pitstop.events import (
    BatchDivided,
    BuffersReduced,
    DivisionRefused,
    Event,
    FitStarted,
    Notice,
    Restored,
    TrainerExited,
    WorkerDied,
)
from pitstop.journal import Entry, events_of
from pitstop.link.settings import NOT_DIVIDED
from pitstop.supervisor.records.history import batch_parts

WANT_OF_MEMORY = frozenset({"host_oom_killed", "host_alloc_failure", "gpu_oom"})

MOST_PARTS = 64
_STEPPING = ("first_step", "train", "restoring")
_READING = (*_STEPPING, "validation")
_SHUFFLE = re.compile(r"Shuffle \d+")
_SOON_STEPS = 50
"""A step that needs too much fails at once, or when it meets the first large batch."""


def lacked_memory(cause: str, entries: Sequence[Entry]) -> bool:
    """Whether the last attempt failed for want of memory, its data workers included."""
    own = [each for each in entries if each.attempt == entries[-1].attempt]
    kills = sum(each.oom_kills or 0 for each in events_of(own, TrainerExited))
    died = any(each.signal == "SIGKILL" for each in events_of(own, WorkerDied))
    return cause in WANT_OF_MEMORY or (died and kills > 0)


def decide(cause: str, entries: Sequence[Entry]) -> BatchDivided | BuffersReduced | DivisionRefused:
    """What to do after the last attempt failed for want of memory."""
    own: list[Event] = [each.event for each in entries if each.attempt == entries[-1].attempt]
    exits = [each for each in own if isinstance(each, TrainerExited)]
    begun = max((each.step for each in own if isinstance(each, Restored)), default=0)
    parts = 2 * batch_parts(entries)
    fits = [each for each in own if isinstance(each, FitStarted)]
    held = fits[-1].large_buffers if fits and cause != "gpu_oom" else []
    if held and exits and exits[-1].phase in _READING and not events_of(entries, BuffersReduced):
        return BuffersReduced(cause, exits[-1].step + 1, held)
    if any(isinstance(each, Notice) and each.code == NOT_DIVIDED for each in own):
        return DivisionRefused("its batches cannot be computed in parts")
    if not exits or exits[-1].phase not in _STEPPING:
        return DivisionRefused("memory ran out outside a training step")
    steps = exits[-1].step - begun
    if cause == "host_oom_killed" and steps > _SOON_STEPS:
        shuffled = _SHUFFLE.search(str(fits[-1].data.get("pipeline"))) if fits else None
        kept = (f"; {shuffled[0]} keeps its buffer, to keep the order") if shuffled else ""
        grew = f"memory use grew for {steps} steps: the batch is not the reason"
        return DivisionRefused(grew + kept)
    if parts > MOST_PARTS:
        return DivisionRefused(f"even 1/{MOST_PARTS} of a batch needs too much memory")
    return BatchDivided(cause, exits[-1].step + 1, parts)
