"""The failures of one call of `pitstop run`: whether it goes on after the last, or would."""

import random
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile
from pathlib import Path

from pitstop import events, journal
from pitstop.durations import delay_seconds
from pitstop.journal import Entry
from pitstop.link.settings import MIXED_PRECISION
from pitstop.record import Frozen
from pitstop.store.run_folder import open_existing
from pitstop.supervisor.hangs.watchdog import HangPolicy
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.restarts.rollbacks import (
    MOST_PARTS,
    WANT_OF_MEMORY,
    Rollbacks,
    divide,
    lacked_memory,
)

HANG = "hang_or_stall"
MEMBER = "worker_lost"
FAILED_READ = "Input/output error"
"""A bad disk gives this error, and so does a mount whose server will be back."""

_TWICE = 2
_OFTEN = 6

# The cause of a failure, by what another try is worth.  The number is how often in a
# row it may come back without a new step; time heals some faults, and a bit-exact
# repetition none.  A cause that is not listed comes back in every attempt: the script,
# its data, its folder or the machine must be mended first.
BRAKE: Mapping[str, int] = {
    "killed_from_outside": _OFTEN,
    "preempted_or_terminated": _OFTEN,
    "network_or_download_failure": _OFTEN,
    MEMBER: _OFTEN,
    "host_oom_killed": _TWICE,
    "gpu_oom": _TWICE,
    "gpu_driver_or_library": _TWICE,
    "native_crash": _TWICE,
    "too_many_open_files": _TWICE,
    "thread_or_process_limit": _TWICE,
    HANG: _TWICE,
    "unknown": _TWICE,
}
_AT_ONCE = frozenset({"killed_from_outside", "host_oom_killed", "native_crash", HANG, MEMBER})
"""After the first such failure in a row, the next attempt starts without a wait."""

CauseOf = Callable[[Path], str]  # the cause that ended the last attempt of the run in a folder


class RestartPolicy(Frozen):
    """What one call of `pitstop run` does after a failure."""

    most: int = 0  # restarts
    after_hang: bool = True
    divides: bool = False  # goes on with parts of a batch where memory did not suffice
    lowers_precision: bool = False  # and before that with a smaller dtype
    spare: bool | None = None  # prepare the next process; None: slowly while processors are busy
    rollbacks: int = 0  # how often it may go back to before a number that is not finite


class AttemptFailure(Frozen):
    cause: str
    step: int
    may_pass: bool = False  # as a fault from outside
    by_itself: bool = False  # by a signal of its own


class Decision(Frozen):
    """The wait until the next attempt; None for no further one, with the reason."""

    wait_seconds: float | None
    reason: str = ""


def most_in_a_row(failure: AttemptFailure) -> int | None:
    """How often it may come back without a new step; None for causes that are not retried."""
    most = _OFTEN if failure.may_pass else BRAKE.get(failure.cause)
    return _TWICE if failure.by_itself else most


def decide(failures: Sequence[AttemptFailure], policy: RestartPolicy, chance: float) -> Decision:
    """What to do after the last of these failures; `chance`, below 1, makes the jitter."""
    last = failures[-1]
    most = most_in_a_row(last)
    if most is None:
        return Decision(None, f"{last.cause} would happen again; fix the cause first")
    if last.cause == HANG and not policy.after_hang:
        return Decision(None, "it hung, and --on-hang kill does not restart")
    repeats = _repeats(failures)
    if repeats >= most:
        times = "twice" if repeats == _TWICE else f"{repeats} times"
        return Decision(None, f"{last.cause} {times} in a row without a new step")
    in_a_row = _failures_without_progress(failures)
    if in_a_row >= _OFTEN:
        return Decision(None, f"{in_a_row} failures in a row without a new step")
    if len(failures) > policy.most:
        return Decision(None, f"no restarts left ({policy.most} used)")
    is_sudden = last.cause in _AT_ONCE or last.by_itself
    if in_a_row == 1 and is_sudden and not last.may_pass:
        return Decision(0.0)
    return Decision(delay_seconds(in_a_row, chance))


def _repeats(failures: Sequence[AttemptFailure]) -> int:
    recent = failures[-_failures_without_progress(failures) :]
    return len(list(takewhile(lambda each: each.cause == failures[-1].cause, reversed(recent))))


def _failures_without_progress(failures: Sequence[AttemptFailure]) -> int:
    furthest = max(each.step for each in failures)
    first = next(i for i, each in enumerate(failures) if each.step == furthest)
    return len(failures) - first


def _failure(cause: str, step: int, entries: Sequence[Entry]) -> AttemptFailure:
    last = journal.of_last_attempt(entries)
    raised = journal.events_of(last, events.ExceptionRaised)
    may_pass = any(FAILED_READ in each.message for each in raised)
    signals = {each.signal for each in journal.events_of(last, events.TrainerExited)}
    calls = journal.events_of(last, events.ExitCalled)
    by_itself = any(each.how in events.SIGNALLING and each.code in signals for each in calls)
    return AttemptFailure(cause, step, may_pass, by_itself)


class Restarts:
    """Remembers what failed, and decides about the next attempt."""

    def __init__(self, policy: RestartPolicy, cause_of: CauseOf, rollbacks: Rollbacks) -> None:
        self._policy = policy
        self._cause_of = cause_of
        self._rollbacks = rollbacks
        self.exit_code = rollbacks.exit_code
        self._failures: list[AttemptFailure] = []

    @property
    def left(self) -> int:
        return max(0, self._policy.most - len(self._failures))

    def after(
        self,
        state: State,
        step: int,
        run_dir: Path,
        record: Callable[[events.Event], None],
        found: AttemptState,
    ) -> float | None:
        """How long to wait before the next attempt, None for no other; records the decision."""
        if self._rollbacks.after(state, found, record):
            return 0.0
        broken = found.broken
        failed = state is State.FAILED or (broken is not None and state is State.STOPPED)
        if not failed or not (self._policy.most or self._policy.divides):
            return None
        cause = MEMBER if broken else self._cause_of(run_dir)
        entries = journal.read(open_existing(run_dir).journal).entries
        if self._policy.divides and found.role is None and lacked_memory(cause, entries):
            division = divide(cause, entries, lowers_precision=self._policy.lowers_precision)
            record(division)
            if not isinstance(division, events.DivisionRefused):
                return 0.0
        if not self._policy.most:
            return None
        if found.released is not None and found.released.outcome == "failed":
            # A new attempt would wait for the leader without end.
            decision = Decision(None, f"{found.released.leader} has failed for good")
        else:
            self._failures.append(_failure(cause, step, entries))
            decision = decide(self._failures, self._policy, random.random())
        wait_seconds, count = decision.wait_seconds, len(self._failures)
        if wait_seconds is None:
            record(events.RestartRefused(cause, decision.reason))
            return None
        record(events.RestartPlanned(cause, round(wait_seconds, 3), count, self._policy.most))
        return wait_seconds


NAN = "nan_loss"
_DATA = "data_error"


def foresee(cause: str, policy: RestartPolicy, hang: HangPolicy, on_bad_record: str) -> str:
    if cause == NAN and policy.rollbacks:
        return (
            "go back to the last checkpoint with finite weights and skip the batch, lower the "
            f"learning rate or clip gradients, at most {policy.rollbacks} times"
        )
    again = _again(cause, policy)
    if cause == _DATA and policy.most:
        again = f"after `{FAILED_READ}`, {_again(cause, policy, may_pass=True)}; otherwise {again}"
    if cause == _DATA:
        skips = "skip the batches that cannot be read (no Python generators); if there are many, "
        return f"{skips if on_bad_record == 'skip' else ''}{again}"
    if cause == HANG and hang.action == "warn":
        lost = f"; if a data worker has died, {again}" if hang.replaces_workers else ""
        return f"report where it hangs, and keep waiting{lost}"
    if policy.divides and cause in WANT_OF_MEMORY:
        parts = f"compute each batch in 2, 4, ... {MOST_PARTS} parts"
        if policy.lowers_precision:
            parts = f"compute in {MIXED_PRECISION}, which changes the results; then {parts}"
        if cause != "gpu_oom":
            parts = f"use smaller input buffers, in the same order; then {parts}"
        return f"{parts}; if the step is not what fills the memory, {again}"
    return again


def _again(cause: str, policy: RestartPolicy, *, may_pass: bool = False) -> str:
    failure = AttemptFailure(cause, 0, may_pass)
    if decide([failure], policy, 0.0).wait_seconds is not None:
        return (
            f"restart from the newest snapshot, at most {policy.most} times, until it has failed "
            f"{most_in_a_row(failure)} times in a row without a new step"
        )
    saved = "save the newest snapshot, explain, and end; the same command resumes from there"
    return f"{saved} (use --restarts to restart automatically)" if cause in BRAKE else saved
