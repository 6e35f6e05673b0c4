"""The report on several runs that trained together: which failed first, which because of it."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pitstop import journal
from pitstop.cluster.spec import EVALUATOR
from pitstop.durations import duration
from pitstop.events import JsonValue, TrainerExited
from pitstop.record import Frozen
from pitstop.report.why import WhyReport
from pitstop.store.run_folder import JOURNAL_FILE

_AGAIN = "the same command again"
_BY_THE_LAUNCH = ("preempted_or_terminated", "worker_lost")
_BY_A_PERSON = ("stop_requested", "user_interrupt")


class MemberReport(Frozen):
    """The report on one member; `ended_seconds` is 0 if it never started."""

    task: str
    report: WhyReport
    ended_seconds: float

    @property
    def failed(self) -> bool:
        return self.report.last.state == "failed"

    @property
    def cause(self) -> str:
        finding = self.report.last.finding
        return finding.cause if finding else ""


class GangReport(Frozen):
    """The report on all members."""

    name: str
    first: MemberReport  # the first that failed; else the leader, or one stopped before it
    others: tuple[MemberReport, ...]

    def is_victim(self, member: MemberReport) -> bool:
        return member.failed and member.cause != self.first.cause

    def lines(self) -> tuple[str, ...]:
        return tuple(f"{each.task}: {self._how(each)}" for each in self.others)

    def to_json(self) -> dict[str, JsonValue]:
        """One object; the member that failed first is the first of `members`."""
        members = [
            {"task": each.task, "victim": self.is_victim(each), **each.report.to_json()}
            for each in (self.first, *self.others)
        ]
        return {
            "run": self.name,
            "first_failed": self.first.task if self.first.failed else None,
            "members": members,
        }

    def _how(self, member: MemberReport) -> str:
        cause = f" ({member.cause})" if member.cause else ""
        if not member.failed:
            return f"{member.report.last.state}{cause}"
        later = duration(member.ended_seconds - self.first.ended_seconds)
        how = f"a victim of {self.first.task}" if self.is_victim(member) else "with the same cause"
        return f"failed {later} later, {how}{cause}"


def ended_seconds(run_dir: Path) -> float:
    """When the script of a run ended last; when its journal did where that is not known."""
    entries = journal.read(run_dir / JOURNAL_FILE).entries
    exits = [each.time_seconds for each in entries if isinstance(each.event, TrainerExited)]
    return max([*exits[-1:], *(each.time_seconds for each in entries[-1:] if not exits)], default=0)


def of_members(name: str, members: Sequence[MemberReport]) -> GangReport:
    firsts = sorted((each for each in members if each.failed), key=lambda each: each.ended_seconds)
    leader = members[0]
    asked = [
        each
        for each in members
        if each.cause in _BY_A_PERSON and each.ended_seconds < leader.ended_seconds
    ]
    if not firsts and leader.cause in _BY_THE_LAUNCH:
        firsts = asked[:1]
    first, *others = [*firsts, *(each for each in members if each not in firsts)]
    if first.failed and leader.report.last.state == "completed":
        first = _of_a_training_that_is_over(first, leader.task)
    return GangReport(name, first, tuple(others))


def _of_a_training_that_is_over(member: MemberReport, leader: str) -> MemberReport:
    """Without the advice to run the command again, unless it is for an evaluator."""
    last = member.report.last
    if last.finding is None or member.task.startswith(EVALUATOR):
        return member
    kept = (each for each in last.finding.advice if _AGAIN not in each)
    over = f"{leader} has completed: the training is over, and need not be run again."
    finding = replace(last.finding, advice=(*kept, over))
    return replace(member, report=replace(member.report, last=replace(last, finding=finding)))
