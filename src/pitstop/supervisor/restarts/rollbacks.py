"""Back to the last finite checkpoint after a NaN, and what is done otherwise from there.

What was done is in the journal only, and holds for every later attempt of the run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile

from pitstop import journal
from pitstop.errors import RunFolderUnwritable
from pitstop.events import (
    Event,
    NonFiniteLoss,
    NonFiniteWeights,
    RollbackRefused,
    RolledBack,
)
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_FAILED, EXIT_STOPPED
from pitstop.link.settings import Settings
from pitstop.record import Frozen
from pitstop.steps import has_grown
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.stops.stop_condition import NAN_SOURCE

WEIGHTS = "weights"
"""The metric of a `NonFiniteLoss` that tells of weights, looked at behind a step."""
_RATE_FACTOR = 0.1
_MOST_IN_A_ROW = 2
_NEAR_STEPS = 50


class _Target(Frozen):
    """The state to go back to: a checkpoint with finite weights, or the beginning of the run."""

    checkpoint: str = ""
    step: int = 0
    of_fit: bool = True


def left_out(done: Iterable[RolledBack]) -> frozenset[int]:
    """The steps whose batches are left out.

    Weights that are bad behind a step tell that its batch was bad, not the next, whose loss showed
    it.
    """
    steps: set[int] = set()
    for each in done:
        if each.action == "skip":
            steps -= {each.step + 1} if each.metric == WEIGHTS else set()
            steps.add(each.step)
    return frozenset(steps)


def altered(settings: Settings, done: Sequence[RolledBack], *, allowed: bool) -> Settings:
    rates: dict[int, float] = {}
    for each in done:
        rates = {step: rate for step, rate in rates.items() if step <= each.to_step}
        rates |= {each.to_step: each.learning_rate} if each.learning_rate else {}
    skips = sorted(left_out(done))
    parts = [f"the batch of step {step} is skipped" for step in skips]
    parts += [
        f"the learning rate is {rate:.4g} from step {step} on" for step, rate in rates.items()
    ]
    return dataclasses.replace(
        settings,
        rolls_back=allowed,
        skip_steps=tuple(skips),
        rates=tuple(rates.items()),
        look_to_step=max((each.step + 1 for each in done), default=0),
        altered=f"--on-nan rollback changed the results: {'; '.join(parts)}" if parts else "",
    )


def decide(
    bad: NonFiniteLoss | NonFiniteWeights,
    done: Sequence[RolledBack],
    entries: Iterable[CheckpointEntry],
    most: int,
) -> RolledBack | RollbackRefused:
    """What to do about the first bad number of an attempt; `entries`: checkpoints, newest first."""
    if len(done) >= most:
        return RollbackRefused(f"it was already rolled back {len(done)} times (--rollbacks {most})")
    before_step = _before(bad, done)
    target = _target(entries, before_step)
    if not target.of_fit:
        return RollbackRefused("this is a custom loop: only batches of model.fit can be skipped")
    back = RolledBack(
        bad.metric if isinstance(bad, NonFiniteLoss) else WEIGHTS,
        bad.step,
        target.checkpoint,
        target.step,
        "look",
        len(done) + 1,
        most,
    )
    if isinstance(bad, NonFiniteWeights):
        if any(each.action == "look" and each.step >= bad.step for each in done):
            return RollbackRefused("the step that makes the weights bad was not found")
        return back
    if before_step == bad.step and not _stays_bad(bad, left_out(done)):
        return dataclasses.replace(back, action="skip")
    if not bad.learning_rate:
        return RollbackRefused("there is no learning rate to lower")
    return dataclasses.replace(back, action="rate", learning_rate=bad.learning_rate * _RATE_FACTOR)


def _before(bad: NonFiniteLoss | NonFiniteWeights, done: Sequence[RolledBack]) -> int:
    """The step that the state to go back to must lie before.

    What was saved while the losses grew is of no use; nor is the last target, if a lower rate did
    not help.
    """
    last = done[-1] if done else None
    if last and last.action == "rate" and bad.step <= last.step + _NEAR_STEPS:
        return max(min(last.to_step, bad.step), 1)
    if isinstance(bad, NonFiniteLoss) and has_grown(bad.recent, bad.last_finite):
        return max(bad.step - len(bad.recent) + 1, 1)
    return bad.step


def _stays_bad(bad: NonFiniteLoss, skips: frozenset[int]) -> bool:
    return all(bad.step - each in skips for each in range(1, _MOST_IN_A_ROW + 1))


def _target(entries: Iterable[CheckpointEntry], before_step: int) -> _Target:
    for each in entries:
        info = each.manifest.info if each.manifest else None
        if info and info.step < before_step and not info.non_finite:
            return _Target(each.path.name, info.step, bool(info.identity))
    return _Target()


class Rollbacks:
    """Those of one call of `pitstop run`."""

    def __init__(self, folder: RunFolder, most: int) -> None:
        self._folder = folder
        self._most = most
        self._refused = False

    def after(self, state: State, found: AttemptState, record: Callable[[Event], None]) -> bool:
        by_others = state is State.STOPPED and found.stop_sources - {NAN_SOURCE}
        if not self._most or found.bad is None or by_others:
            return False
        catalog = Catalog(self._folder.checkpoints)
        entries = catalog.entries()
        done = journal.events_of(journal.read(self._folder.journal).entries, RolledBack)
        decision = decide(found.bad, done, entries, self._most)
        if found.role is not None:
            decision = RollbackRefused("it trains together with others, which would not roll back")
        if isinstance(decision, RolledBack):
            back = decision
            newer = takewhile(lambda each: each.path.name != back.checkpoint, entries)
            bad = f"the {back.metric} were not finite"
            try:
                # What was saved since, so that the next attempt begins before it.
                for each in newer:
                    reason = f"The run was rolled back to step {back.to_step}: {bad}."
                    catalog.quarantine(each, reason)
            except RunFolderUnwritable as fault:
                decision = RollbackRefused(f"a checkpoint cannot be set aside: {fault.message}")
        record(decision)
        self._refused = isinstance(decision, RollbackRefused)
        return not self._refused

    def exit_code(self, own: int) -> int:
        """That of the run: it is no success, and to run it again would come to the same."""
        return EXIT_FAILED if self._refused and own in (EXIT_COMPLETED, EXIT_STOPPED) else own
