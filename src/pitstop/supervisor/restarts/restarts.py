"""The failures of one call of `pitstop run`, and whether it goes on after the last."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from pitstop.events import Event, GangBroken, RestartPlanned, RestartRefused
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.restarts import policy
from pitstop.supervisor.restarts.policy import AttemptFailure, RestartPolicy

CauseOf = Callable[[Path], str]
"""The cause that ended the last attempt of the run in a folder."""


def unexplained(_run_dir: Path) -> str:
    """Where nobody diagnoses."""
    return "unknown"


class Restarts:
    """Remembers what failed, and decides about the next attempt."""

    def __init__(self, policy: RestartPolicy, cause_of: CauseOf) -> None:
        self._policy = policy
        self._cause_of = cause_of
        self._failures: list[AttemptFailure] = []

    @property
    def left(self) -> int:
        """How many may still be made, the one that is waited for not counted."""
        return max(0, self._policy.most - len(self._failures))

    def after(
        self,
        state: State,
        step: int,
        run_dir: Path,
        record: Callable[[Event], None],
        broken: GangBroken | None = None,
    ) -> float | None:
        """How long to wait before the next attempt, None for no other; records the decision."""
        failed = state is State.FAILED or (broken is not None and state is State.STOPPED)
        if not failed or not self._policy.most:
            return None
        failure = AttemptFailure(policy.MEMBER if broken else self._cause_of(run_dir), step)
        self._failures.append(failure)
        decision = policy.decide(self._failures, self._policy, random.random())
        wait_seconds = decision.wait_seconds
        if wait_seconds is None:
            record(RestartRefused(failure.cause, decision.reason))
            return None
        count = len(self._failures)
        record(RestartPlanned(failure.cause, round(wait_seconds, 3), count, self._policy.most))
        return wait_seconds
