"""How far each attempt of a run came, and what that says of all of them.  Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pitstop.diagnosis import Diagnosis, Evidence, phrases
from pitstop.events import Restored, ResumeChosen
from pitstop.record import Frozen

_GOES_ON = ("running", "stopped", "completed")


class AttemptProgress(Frozen):
    """One attempt in a line; no cause while it runs, no checkpoint step while nothing is saved."""

    attempt: int
    state: str
    cause: str
    started_seconds: float
    ended_seconds: float
    first_step: int
    last_step: int
    checkpoint_step: int | None

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended_seconds - self.started_seconds)


def progress(evidence: Evidence, diagnosis: Diagnosis, recorded_step: int) -> AttemptProgress:
    """How far an attempt came; `recorded_step` is the last in its own record, 0 without one."""
    first = _first_step(evidence)
    return AttemptProgress(
        attempt=evidence.attempt,
        state=diagnosis.state,
        cause=diagnosis.finding.cause if diagnosis.finding else "",
        started_seconds=evidence.entries[0].time_seconds,
        ended_seconds=evidence.entries[-1].time_seconds,
        first_step=first,
        last_step=max(first, recorded_step, diagnosis.step or 0),
        checkpoint_step=diagnosis.checkpoint_step,
    )


def compare(attempts: Sequence[AttemptProgress]) -> tuple[str, ...]:
    """What the last attempt has in common with those before it, one sentence each."""
    return tuple(_sentences(attempts)) if len(attempts) > 1 else ()


def _sentences(attempts: Sequence[AttemptProgress]) -> Iterator[str]:
    last = attempts[-1]
    again = _same_cause(attempts)
    if again > 1:
        steps = {each.last_step for each in attempts[-again:]}
        where = f", each at step {steps.pop():,}" if len(steps) == 1 else ""
        yield f"The last {again} attempts ended with the same cause, {last.cause}{where}."
    before = max(each.last_step for each in attempts[:-1])
    gained = last.last_step - before
    if gained > 0:
        yield f"This attempt got {phrases.steps(gained)} further than the earlier ones."
    elif last.state not in _GOES_ON:
        best = max(attempts, key=lambda each: (each.last_step, -each.attempt))
        yield f"No attempt since attempt {best.attempt} got further than step {before:,}."
    # Steps that an attempt had reached and a later one began before.
    pairs = pairwise(attempts)
    repeated = sum(max(0, earlier.last_step - later.first_step) for earlier, later in pairs)
    if repeated:
        yield f"Over {len(attempts)} attempts, {phrases.steps(repeated)} had to be repeated."


def _same_cause(attempts: Sequence[AttemptProgress]) -> int:
    last = attempts[-1]
    if last.state in _GOES_ON:
        return 0
    different = (i for i, each in enumerate(reversed(attempts)) if each.cause != last.cause)
    return next(different, len(attempts))


def _first_step(evidence: Evidence) -> int:
    restored, chosen = evidence.first(Restored), evidence.first(ResumeChosen)
    if restored is not None:
        return restored.step
    return chosen.step if chosen is not None else 0
