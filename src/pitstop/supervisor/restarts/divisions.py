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
    ExceptionRaised,
    FitStarted,
    Notice,
    PrecisionReduced,
    Restored,
    TrainerExited,
    WorkerDied,
)
from pitstop.events.training import LOOPS
from pitstop.journal import Entry, events_of
from pitstop.link.settings import MIXED_PRECISION, NOT_DIVIDED
from pitstop.supervisor.records.history import batch_parts

Measure = BuffersReduced | PrecisionReduced | BatchDivided | DivisionRefused

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


def decide(cause: str, entries: Sequence[Entry], *, lowers_precision: bool = False) -> Measure:
    """What to do after the last attempt failed for want of memory."""
    own = [each for each in entries if each.attempt == entries[-1].attempt]
    exits = events_of(own, TrainerExited)
    fits = events_of(own, FitStarted)
    held = fits[-1].large_buffers if fits and cause != "gpu_oom" else []
    phase = _phase(own)
    if held and phase in _READING and not events_of(entries, BuffersReduced):
        return BuffersReduced(cause, exits[-1].step + 1, held)
    if phase not in _STEPPING:
        return DivisionRefused("memory ran out outside a training step")
    begun = max((each.step for each in events_of(own, Restored)), default=0)
    steps = exits[-1].step - begun
    if cause == "host_oom_killed" and steps > _SOON_STEPS:
        shuffled = _SHUFFLE.search(str(fits[-1].data.get("pipeline"))) if fits else None
        kept = (f"; {shuffled[0]} keeps its buffer, to keep the order") if shuffled else ""
        grew = f"memory use grew for {steps} steps: the batch is not the reason"
        return DivisionRefused(grew + kept)
    if lowers_precision and not events_of(entries, PrecisionReduced):
        return PrecisionReduced(cause, exits[-1].step + 1, MIXED_PRECISION)
    if all(each.data.get("adapter") in LOOPS for each in events_of(entries, FitStarted)):
        return DivisionRefused("this is a custom loop: only batches of model.fit can be divided")
    return _division(cause, exits[-1].step + 1, own, 2 * batch_parts(entries))


def _phase(own: Sequence[Entry]) -> str:
    """Where the attempt failed; a script that ends by an exception has left its training then."""
    raised, exits = events_of(own, ExceptionRaised), events_of(own, TrainerExited)
    if not exits:
        return ""
    return raised[-1].phase if raised and not exits[-1].signal else exits[-1].phase


def _division(
    cause: str, step: int, own: Sequence[Entry], parts: int
) -> BatchDivided | DivisionRefused:
    if any(each.code == NOT_DIVIDED for each in events_of(own, Notice)):
        return DivisionRefused("its batches cannot be computed in parts")
    if parts > MOST_PARTS:
        return DivisionRefused(f"even 1/{MOST_PARTS} of a batch needs too much memory")
    return BatchDivided(cause, step, parts)
