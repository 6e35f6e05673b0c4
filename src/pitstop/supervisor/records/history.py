"""What a new attempt needs to know of those before.  Pure."""

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import takewhile
from typing import Self

from pitstop import events
from pitstop.engine.snapshots.weights_file import STARTED_FROM
from pitstop.journal import Entry, events_of, last_of, with_attempts
from pitstop.record import Frozen
from pitstop.supervisor.records import fingerprint

_WATCHED = ("val_loss", "loss")
_FITS = (events.FitStarted, events.FitEnded, events.FitRestored)
LEADER_AWAITED = "leader_awaited"  # the code of the notice of an attempt that waits for it
_EXPECTED_BACK = (events.StopRequested, events.GangFormed)
"""Of a run that ends together with its leader, which then goes on together with it."""


class LeaderBefore(enum.Enum):
    """What the last attempt that had reached the leader of its cluster knew of it at its end.

    UNKNOWN: there is none, or the leader ended as well and is expected to come back.
    """

    UNKNOWN = enum.auto()
    THERE = enum.auto()
    COMPLETED = enum.auto()


class BestEpoch(Frozen):
    """The least value of a metric, and the epoch that it comes from, counted from 0."""

    metric: str
    value: float
    epoch: int


def better(best: BestEpoch | None, event: events.EpochEnded) -> BestEpoch | None:
    """The best one, with one more epoch; a change to a better metric begins anew."""
    metric = next((name for name in _WATCHED if name in event.logs), "")
    value = event.logs.get(metric, math.nan)
    if not math.isfinite(value):
        return best
    if best is None or best.metric != metric or value < best.value:
        return BestEpoch(metric, value, event.epoch)
    return best


def best_of(epochs: Iterable[events.EpochEnded]) -> BestEpoch | None:
    best: BestEpoch | None = None
    for event in epochs:
        best = better(best, event)
    return best


class Losses(Frozen):
    """How often the run lost its memory: the whole machine or container, not a process.

    Only the end of trainer, supervisor and persister at once takes a run back to its last durable
    checkpoint.
    """

    count: int = 0  # attempts whose end neither supervisor nor persister recorded
    observed_seconds: float = 0.0  # of all attempts

    @classmethod
    def from_entries(cls, entries: Sequence[Entry]) -> Self:
        attempts: dict[int, list[Entry]] = {}
        for entry in entries:
            attempts.setdefault(entry.attempt, []).append(entry)
        return cls(
            sum(_was_lost(own) for own in attempts.values()),
            # A clock that was set back must not make the time negative.
            sum(max(0.0, own[-1].time_seconds - own[0].time_seconds) for own in attempts.values()),
        )

    def mean_seconds(self, running_seconds: float = 0.0) -> float:
        """The mean time between two losses, the present attempt counted; infinite without any."""
        if not self.count:
            return math.inf
        return (self.observed_seconds + running_seconds) / self.count


NO_LOSSES = Losses()


def optimal_interval_seconds(cost_seconds: float, mean_seconds: float) -> float:
    """The time between checkpoints that loses least, to first order: sqrt(2 C M) - C.

    C is what a checkpoint costs, M the mean time between losses; for C of 2 M or more it is M.  J.
    T. Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
    Generation Computer Systems 22 (2006) 303-312, after J. W. Young, "A first order approximation
    to the optimum checkpoint interval", Communications of the ACM 17 (1974) 530-531.
    """
    if cost_seconds >= 2 * mean_seconds:
        return mean_seconds
    return math.sqrt(2 * cost_seconds * mean_seconds) - cost_seconds


def _was_lost(own: Sequence[Entry]) -> bool:
    told = [entry.event for entry in own]
    # The second one comes from the persister, which then saves without a supervisor.
    ended = any(
        isinstance(each, events.AttemptEnded)
        or (isinstance(each, events.StopRequested) and each.source == "supervisor_lost")
        for each in told
    )
    return not ended and any(isinstance(each, events.AttemptStarted) for each in told)


class History(Frozen):
    """What this attempt needs to know of the attempts before it."""

    reached_step: int = -1  # -1 when not known
    environment: Mapping[str, events.JsonValue] = field(default_factory=dict)  # the last one
    versions: Mapping[str, str] = field(default_factory=dict)  # of the last attempt that trained
    save_seconds: float = 0.0  # of the newest checkpoint, 0 when there is none
    epochs: tuple[events.EpochEnded, ...] = ()
    trains: bool = False  # a `fit` has not ended
    losses: Losses = NO_LOSSES
    start_from: str = ""
    doubt: str = ""  # why the state was not exact, if it was not
    gangs: Mapping[int, events.GangFormed] = field(default_factory=dict)
    rollbacks: tuple[events.RolledBack, ...] = ()
    batch_parts: int = 1  # in how many parts a step is computed
    small_buffers: bool = False
    mixed_precision: bool = False  # layers compute in a smaller dtype
    leader: LeaderBefore = LeaderBefore.UNKNOWN
    script_saved: events.ScriptSaved | None = None  # the last, of a script that continues from it

    @classmethod
    def from_entries(cls, entries: Sequence[Entry], limit_bytes: int | None = None) -> Self:
        started = last_of(entries, events.AttemptStarted)
        connected = last_of(entries, events.TrainerConnected)
        committed = last_of(entries, events.CheckpointCommitted)
        fits = [each.event for each in entries if isinstance(each.event, _FITS)]
        last = fits[-1] if fits else None
        return cls(
            reached_step=reached_step(entries),
            environment=started.environment if started else {},
            versions=_all_versions(connected) if connected else {},
            save_seconds=committed.seconds if committed else 0.0,
            epochs=tuple(events_of(entries, events.EpochEnded)),
            trains=isinstance(last, events.FitStarted) and not last.is_loop,
            losses=Losses.from_entries(entries),
            start_from=_start_from(entries),
            rollbacks=tuple(events_of(entries, events.RolledBack)),
            batch_parts=batch_parts(entries, limit_bytes),
            small_buffers=bool(events_of(entries, events.BuffersReduced)),
            mixed_precision=bool(events_of(entries, events.PrecisionReduced)),
            doubt=_doubt(entries),
            leader=_leader(entries),
            script_saved=last_of(entries, events.ScriptSaved),
            gangs=dict(with_attempts(entries, events.GangFormed)),
        )

    def version_changes(
        self, event: events.TrainerConnected
    ) -> tuple[events.EnvironmentChanged, ...]:
        return fingerprint.compare(self.versions, _all_versions(event))


def _doubt(entries: Sequence[Entry]) -> str:
    levels = events_of(entries, events.LevelKnown)
    return next((each.reason for each in reversed(levels) if each.level == "not_exact"), "")


def _leader(entries: Sequence[Entry]) -> LeaderBefore:
    told = [each.event for each in entries]
    found = [index for index, each in enumerate(told) if isinstance(each, events.LeaderFound)]
    if not found:
        return LeaderBefore.UNKNOWN
    since = list(takewhile(lambda each: not _awaits_leader(each), told[found[-1] :]))
    ends = [
        each.state if isinstance(each, events.MemberEnded) else each.outcome
        for each in since
        if isinstance(each, events.MemberEnded | events.MemberReleased)
    ]
    if "completed" in ends:
        return LeaderBefore.COMPLETED
    ended = any(isinstance(each, events.AttemptEnded) for each in since)
    together = ends or any(isinstance(each, _EXPECTED_BACK) for each in since)
    return LeaderBefore.THERE if ended and not together else LeaderBefore.UNKNOWN


def _awaits_leader(event: events.Event) -> bool:
    return isinstance(event, events.Notice) and event.code == LEADER_AWAITED


def within_limit(entries: Sequence[Entry], limit_bytes: int | None) -> list[Entry]:
    """The entries of attempts whose memory limit (None: none) was this one or a higher one."""
    exits = with_attempts(entries, events.TrainerExited)
    limits = {attempt: each.memory_limit_bytes or math.inf for attempt, each in exits}
    now_bytes = limit_bytes or math.inf
    return [each for each in entries if now_bytes <= limits.get(each.attempt, math.inf)]


def batch_parts(entries: Sequence[Entry], limit_bytes: int | None = None) -> int:
    """Of each batch; divisions for the host's memory end where its limit (None: none) is raised."""
    of_gpu = [each for each in events_of(entries, events.BatchDivided) if each.cause == "gpu_oom"]
    divided = [*of_gpu, *events_of(within_limit(entries, limit_bytes), events.BatchDivided)]
    return max((each.parts for each in divided), default=1)


def _start_from(entries: Sequence[Entry]) -> str:
    """The weights that the last attempt started from; refused attempts do not count."""
    notices = with_attempts(entries, events.Notice)
    taken = {attempt for attempt, each in notices if each.code == STARTED_FROM}
    started = with_attempts(entries, events.AttemptStarted)
    named = [each.start_from for attempt, each in started if attempt in taken]
    return named[-1] if named else ""


def _all_versions(event: events.TrainerConnected) -> dict[str, str]:
    return {"python": event.python, **event.versions}


def reached_step(entries: Sequence[Entry]) -> int:
    """The last step reached before, -1 if not known; attempts without a step do not count."""
    reached: dict[int, int] = {}
    for entry in entries:
        reached.setdefault(entry.attempt, -1)
        if isinstance(entry.event, events.TrainerExited | events.TrainerStopped):
            reached[entry.attempt] = entry.event.step
    last = [attempt for attempt, step in reached.items() if step != 0]
    return reached[max(last)] if last else -1
