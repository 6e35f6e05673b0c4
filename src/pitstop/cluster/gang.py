"""The members that train together, as their leader sees them.  No I/O.

A gang begins when all trainers have agreed on a state (`resume_agreement`).  It ends with an agreed
stop (`stop_agreement`), or when one trainer is lost: no step can end without it.
"""

import math
from collections import defaultdict
from collections.abc import Callable

from pitstop.cluster import messages, resume_agreement, stop_agreement
from pitstop.cluster.resume_agreement import ResumeAgreement
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import StopAgreement
from pitstop.record import Frozen

_REPEAT_SECONDS = 1.0
_LEAST_REPEAT_SECONDS = 0.03
_MOST_REPEATED = 20_000  # orders that are repeated in a second, which the leader has time for
_FIRST_SNAPSHOT_SECONDS = 3.0
_LEAST_SNAPSHOT_SECONDS = 10.0
_COST_FACTOR = 50
_NOTICE_SECONDS = 0.25  # for the order of a snapshot to reach all members before its step
_SETTLE_SECONDS = 2.0
_SETTLE_FACTOR = 5  # for all members to save it, with what the leader's last one took

Orders = list[tuple[Task, messages.ToMember]]


class LeaderProgress(Frozen):
    """The step of the leader's own trainer; the others are at most one step away.

    `trains`: its steps are under way.  The times of a step and of the last save are 0 if unknown.
    """

    entering: int
    trains: bool
    step_seconds: float = 0.0
    save_seconds: float = 0.0


class GangLeader:
    """What the leader, itself a member, knows and says; `new_name`: one that no gang had before."""

    def __init__(self, members: frozenset[Task], leader: Task, new_name: Callable[[], str]) -> None:
        self._members = members
        self._in_order = sorted(members)
        self._leader = leader
        self._new_name = new_name
        self._ended: dict[Task, int] = {}
        self._over: messages.GangOver | None = None
        self._progress = LeaderProgress(0, trains=False)
        self._begin()

    def _begin(self) -> None:
        self._resume = ResumeAgreement(self._in_order, self._leader, self._new_name())
        self._agreement: StopAgreement | None = None
        self._holders: defaultdict[str, set[Task]] = defaultdict(set)
        self._snapshot_at_seconds: float | None = None
        self._ordered_step: int | None = None
        self._settles_until_seconds = 0.0
        self._doubt: messages.LevelReport | None = None
        self._told_at_seconds: float | None = None
        self._proposals = 0
        self._unanswered = 0  # how often orders were said again, and nobody has answered
        self._awaited_before = 0  # how many had not answered when they were said last

    @property
    def stop_step(self) -> int | None:
        """The step that all stop at, once it is agreed."""
        agreement = self._agreement
        return agreement.step if agreement and agreement.agreed and not agreement.saves else None

    @property
    def is_ready(self) -> bool:
        return isinstance(self._resume.outcome, messages.GangReady)

    def hear(self, task: Task, message: messages.ToLeader) -> Orders:
        match message:
            case messages.Muster():
                return self._mustered(task, message)
            case messages.ResumeAnswer():
                return list(self._resume.verified(task, message))
            case messages.HoldAnswer() if self._agreement is not None:
                return self._say(stop_agreement.answered(self._agreement, task, message))
            case messages.SaveProposal(name):
                return self._ask("", self._progress, saves=True, name=name)
            case messages.SavedReport(mark):
                return self._saved(task, mark)
            case messages.LevelReport(reason):
                return self._doubted(task, reason)
            case messages.MemberDown(attempt, reason) if self._attempt_of(task) == attempt:
                return self.lost(task, reason)
            case messages.MemberDown(attempt):
                return self._over_again(task, attempt)
        return []

    def _over_again(self, task: Task, attempt: int) -> Orders:
        """To a member whose gang has ended: it may not have heard of it."""
        over = self._over if self._ended.get(task) == attempt else None
        return [(task, over)] if over is not None else []

    def ask_stop(self, reason: str, progress: LeaderProgress) -> Orders:
        return self._ask(reason, progress)

    def _ask(
        self, reason: str, progress: LeaderProgress, *, saves: bool = False, name: str = ""
    ) -> Orders:
        before = self._agreement
        if not self.is_ready or (before is not None and not before.saves):
            return []
        if saves and before is not None and not before.agreed:
            name = name or before.name
        begun = stop_agreement.begun(
            self._members, progress.entering, reason, saves=saves, name=name, before=before
        )
        return self._say(begun)

    def _say(self, following: tuple[StopAgreement, stop_agreement.Orders]) -> Orders:
        self._agreement, orders = following
        if orders:
            self._told_at_seconds, self._unanswered = None, 0
        return list(orders)

    def lost(self, task: Task, reason: str) -> Orders:
        """The trainer of a member is gone, or may be: all members are told, this one as well."""
        if task not in self._resume.musters or self.stop_step is not None:
            return []
        over = self._over = messages.GangOver(self._resume.name, str(task), reason)
        there = sorted(self._resume.musters)
        self._ended |= {each: muster.attempt for each, muster in self._resume.musters.items()}
        self._begin()
        return [(each, over) for each in there]

    def tick(self, now_seconds: float, progress: LeaderProgress) -> Orders:
        self._progress = progress
        if not self.is_ready:
            return list(self._proposed_again(now_seconds))
        return [*self._snapshot(now_seconds, progress), *self._repeated(now_seconds)]

    def _proposed_again(self, now_seconds: float) -> resume_agreement.Words:
        """Less and less often: to read a large state takes its time."""
        if not self._resume.is_open:
            return ()
        self._told_at_seconds = told_at = self._told_at_seconds or now_seconds
        if now_seconds - told_at < resume_agreement.pause_seconds(self._proposals):
            return ()
        self._told_at_seconds, self._proposals = now_seconds, self._proposals + 1
        return self._resume.proposed_again()

    def _repeated(self, now_seconds: float) -> stop_agreement.Orders:
        """The orders to members that have not answered for a while: a connection may be new.

        While nobody answers, less and less often: on busy processors, thousands have not even heard
        of the last ones.
        """
        agreement = self._agreement
        if agreement is None or not agreement.awaited:
            return ()
        self._told_at_seconds = told_at = self._told_at_seconds or now_seconds
        awaited = agreement.awaited.bit_count()
        if awaited != self._awaited_before:
            self._unanswered, self._awaited_before = 0, awaited
        wait_seconds = max(_LEAST_REPEAT_SECONDS, awaited / _MOST_REPEATED)
        if now_seconds - told_at < min(_REPEAT_SECONDS, wait_seconds * (1 << self._unanswered)):
            return ()
        self._told_at_seconds, self._unanswered = now_seconds, min(self._unanswered + 1, 8)
        return agreement.orders(agreement.awaited)

    def _mustered(self, task: Task, muster: messages.Muster) -> Orders:
        if task not in self._members:
            return []
        if muster.attempt <= self._ended.get(task, 0):
            return self._over_again(task, muster.attempt)
        orders: Orders = []
        if self._resume.outcome is not None and self._attempt_of(task) != muster.attempt:
            orders = self.lost(task, "its training has started again")
        return [*orders, *self._resume.mustered(task, muster)]

    def _attempt_of(self, task: Task) -> int:
        muster = self._resume.musters.get(task)
        return muster.attempt if muster is not None else 0

    def _doubted(self, task: Task, reason: str) -> Orders:
        """The others are told once: all members of one script may find the same."""
        if self._doubt is not None:
            return []
        self._doubt = report = messages.LevelReport(f"{task}: {reason}")
        return [(each, report) for each in self._in_order if each != task]

    def returned(self, task: Task) -> Orders:
        """What a member that is connected again may have missed, and is said only once."""
        return [(task, self._doubt)] if self._doubt is not None else []

    def forget(self, task: Task) -> None:
        """Another process is this member from now on; its attempts are counted anew."""
        self._ended.pop(task, None)

    def _saved(self, task: Task, mark: str) -> Orders:
        self._holders[mark].add(task)
        if self._holders[mark] != self._members:
            return []
        del self._holders[mark]
        self._ordered_step = None
        agreement = self._agreement
        if agreement and agreement.saves and resume_agreement.step_of(mark) >= agreement.step:
            self._agreement = None
        return [(each, messages.Settled(mark)) for each in self._in_order]

    def _snapshot(self, now_seconds: float, progress: LeaderProgress) -> Orders:
        agreement = self._agreement
        if not progress.trains or (agreement and not (agreement.saves and agreement.agreed)):
            return []
        if self._snapshot_at_seconds is None:
            self._snapshot_at_seconds = now_seconds + _FIRST_SNAPSHOT_SECONDS
        save_seconds, step_seconds = progress.save_seconds, progress.step_seconds
        settled_seconds = now_seconds + _SETTLE_SECONDS + _SETTLE_FACTOR * save_seconds
        if self._ordered_step is not None and progress.entering <= self._ordered_step:
            self._settles_until_seconds = settled_seconds
        elif self._ordered_step is not None and now_seconds >= self._settles_until_seconds:
            # Some had passed the step before they heard of it: another step will be agreed on.
            self._ordered_step = None
            return self._ask("", progress, saves=True)
        if now_seconds < self._snapshot_at_seconds:
            return []
        # If not all have it by now, the save has failed for one of them.
        self._agreement = None
        pause_seconds = max(_LEAST_SNAPSHOT_SECONDS, _COST_FACTOR * save_seconds)
        self._snapshot_at_seconds = now_seconds + pause_seconds
        ahead = math.ceil(_NOTICE_SECONDS / step_seconds) if step_seconds > 0 else 0
        self._ordered_step = progress.entering + 1 + ahead
        self._settles_until_seconds = settled_seconds
        order = messages.SnapshotOrder(self._ordered_step)
        return [(each, order) for each in self._in_order]
