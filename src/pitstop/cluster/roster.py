"""What the leader knows of the other members, and whom it releases when.  Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Self

from pitstop.cluster.messages import PROTOCOL, Beat, EndReport, JoinRequest, TaskRow
from pitstop.cluster.spec import EVALUATOR, ClusterSpec, Task
from pitstop.record import Frozen

BEAT_SECONDS = 1.0
LEASE_SECONDS = 10.0  # without a beat, until somebody is taken for gone
LATE_SECONDS = 3.0  # the same, until it is the likely reason for another one's failure
PARTED_SECONDS = 2.0  # the same after its connection has closed: a living one reconnects sooner

SUSPENDED = "suspended"
"""The state of a supervisor that will be silent, and the phase of a trainer that does nothing."""
WAS_SUSPENDED = "its process was suspended"


def no_answer(leader: str) -> TaskRow:
    """The row of a leader that cannot be reached."""
    return TaskRow(leader, "", "no_answer", "")


class BeatLease(Frozen):
    """When a beat was heard last, by a monotonic clock, and how long that holds.

    `suspended`: it said that it will be silent, see `Beat.state`.
    """

    length_seconds: float
    heard_seconds: float
    suspended: bool = False

    def renewed(self, now_seconds: float, *, suspended: bool) -> Self:
        return replace(self, heard_seconds=now_seconds, suspended=suspended)

    def parted(self, now_seconds: float) -> Self:
        ends_seconds = min(self.heard_seconds + self.length_seconds, now_seconds + PARTED_SECONDS)
        return replace(self, heard_seconds=ends_seconds - self.length_seconds, suspended=False)

    def shifted(self, seconds: float) -> Self:
        return replace(self, heard_seconds=self.heard_seconds + seconds)

    def is_over(self, now_seconds: float) -> bool:
        return not self.suspended and now_seconds - self.heard_seconds >= self.length_seconds

    def is_late(self, now_seconds: float) -> bool:
        """Whether it is silent, and its end is still open."""
        silent_seconds = now_seconds - self.heard_seconds
        return not self.suspended and LATE_SECONDS <= silent_seconds < self.length_seconds


STORES = "ps"  # the kind of task that others need until their end
_TURNS = {STORES: 1, EVALUATOR: 2}  # which are released after all others, in this order


class ClusterMember(Frozen):
    """One task that has joined, and the last beat that came.

    `end`: how its run ended, if it has said so.  `lost`: it went silent.  `released`: it was told
    that the training is over.
    """

    task: Task
    host: str
    pid: int
    lease: BeatLease
    beat: Beat
    end: EndReport | None = None
    lost: bool = False
    released: bool = False

    @classmethod
    def joining(cls, request: JoinRequest, lease: BeatLease) -> Self:
        beat = Beat("starting", "starting")
        return cls(Task.parse(request.task), request.host, request.pid, lease, beat)

    def heard(self, message: Beat | EndReport, now_seconds: float) -> Self:
        if isinstance(message, EndReport):
            return replace(self, end=message)
        lease = self.lease.renewed(now_seconds, suspended=message.state == SUSPENDED)
        return replace(self, beat=message, lease=lease)

    @property
    def is_live(self) -> bool:
        return self.end is None and not self.lost

    @property
    def row(self) -> TaskRow:
        ended, beat = self.end, self.beat
        state = "lost" if self.lost else ended.state if ended else beat.state
        phase = beat.phase if self.is_live else ""
        return TaskRow(str(self.task), self.host, state, phase, beat.step)

    @property
    def works(self) -> bool:
        """Whether it trains, as far as is known; other members only serve or evaluate."""
        return not self.beat.serves and self.task.kind != EVALUATOR


def objection(spec: ClusterSpec, request: JoinRequest) -> str:
    """Why a process may not join the cluster; empty where it may."""
    if request.protocol != PROTOCOL:
        return f"it runs Pitstop {request.version}, whose protocol differs from the leader's"
    if request.shape != spec.counts:
        return f"it was started for {_words(request.shape)}, the leader for {_words(spec.counts)}"
    if request.task not in {EVALUATOR + " 0", *map(str, spec.addresses)}:
        return f"the cluster has no {request.task}"
    if request.task == str(spec.leader):
        return f"another process is already {request.task}, the leader"
    return ""


def next_to_release(live: Sequence[ClusterMember], outcome: str) -> tuple[ClusterMember, ...]:
    """Members to tell now that the training is over: workers, then servers, then the evaluator.

    After a completed training, members that train are not told: they end by themselves.
    """
    turns = [(_TURNS.get(member.task.kind, 0), member) for member in live]
    now = min((turn for turn, _ in turns), default=0)
    return tuple(
        member
        for turn, member in turns
        if turn == now and not member.released and (not member.works or outcome != "completed")
    )


def _words(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())) or "nobody"
