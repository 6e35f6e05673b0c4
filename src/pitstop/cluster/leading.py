"""The parts in a cluster: the leader knows and releases the others, who follow it to its end."""

import math
import secrets
import socket
import time
from collections import deque
from dataclasses import replace

from pitstop import events
from pitstop.cluster import messages, roster
from pitstop.cluster.gang import GangLeader, LeaderProgress, Orders
from pitstop.cluster.network_thread import Heard, LeaderServer, MemberClient, Parted, Trouble
from pitstop.cluster.resume_agreement import gang_name
from pitstop.cluster.roster import BeatLease, ClusterMember
from pitstop.cluster.spec import ClusterSpec, Task
from pitstop.events import Event
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_STOPPED
from pitstop.link.messages import CheckpointAnswer, Message, Refusal
from pitstop.machine.own_process import is_there
from pitstop.record import Frozen

TROUBLE = "cluster_member"
LEADER_TROUBLE = "cluster_leader"
_ROWS_SECONDS = 1.0  # for which rows of all tasks are shown
_SILENT = "its supervisor is silent"
_FOUND_SECONDS = 1.5  # for a member that looks for its leader, see `network_thread`, to join


class GangLeading:
    """The leader's part in a gang; it is a member, too, which needs no network.

    `orders`: for this run's own trainer.  `absent`: members that may be back, and what is known.
    """

    def __init__(self, server: LeaderServer, spec: ClusterSpec, own: Task) -> None:
        self.orders: deque[messages.ToMember] = deque()
        self.own = own
        self.absent: dict[Task, str] = {}
        self._server = server
        members = spec.trainers
        self._gang = GangLeader(members, own, lambda: gang_name(secrets.token_hex(4), len(members)))

    def hear(self, task: Task, message: messages.ToLeader) -> None:
        """If a trainer fails while another member is absent, that member counts as the reason."""
        absent = sorted(set(self.absent) - {task})
        if isinstance(message, messages.MemberDown) and absent:
            self.lost(absent[0], self.absent[absent[0]])
        self._send(self._gang.hear(task, message))

    def hear_own(self, message: messages.ToLeader) -> None:
        self.hear(self.own, message)

    def ask_stop(self, reason: str, progress: LeaderProgress) -> None:
        self._send(self._gang.ask_stop(reason, progress))

    def lost(self, task: Task, reason: str) -> None:
        self._send(self._gang.lost(task, reason))

    def parted(self, task: Task) -> None:
        self.absent[task] = "its supervisor cannot be reached"

    def beat(self, task: Task, beat: messages.Beat) -> None:
        """A member is there; but to TensorFlow, a suspended trainer has crashed."""
        if roster.SUSPENDED in (beat.phase, beat.state):
            self.absent[task] = roster.WAS_SUSPENDED
        else:
            self.absent.pop(task, None)

    def joined(self, task: Task, *, same: bool) -> None:
        """`same`: it has come back as the same process."""
        self.absent.pop(task, None)
        if not same:
            self.lost(task, "its run has started again")
            self._gang.forget(task)
        self._send(self._gang.returned(task))

    def tick(self, now_seconds: float, progress: LeaderProgress) -> None:
        self._send(self._gang.tick(now_seconds, progress))

    def _send(self, orders: Orders) -> None:
        for task, order in orders:
            if task == self.own:
                self.orders.append(order)
            else:
                self._server.send(task, order)


class MemberRequest(Frozen):
    """A member was asked for a checkpoint, and hands that on to its leader."""

    task: Task
    asked: messages.CheckpointRequest
    server: LeaderServer

    def tell(self, message: Message) -> None:
        reply = messages.CheckpointReply(self.asked.number)
        match message:
            case CheckpointAnswer(checkpoint, step):
                reply = replace(reply, checkpoint=checkpoint, step=step)
            case Refusal(reason):
                reply = replace(reply, refusal=reason)
        self.server.send(self.task, reply)


class LeaderReply(Frozen):
    """What the leader answers to the request of this number; 0: to all that are not answered."""

    number: int
    answer: CheckpointAnswer | Refusal


class Leading:
    """The members of the cluster, as its leader sees them; `handed_on`: what they were asked."""

    def __init__(self, server: LeaderServer, lease_seconds: float, gang: GangLeading) -> None:
        self.gang = gang
        self.orders = gang.orders
        self.tell_gang = gang.hear_own
        self._server = server
        self._lease_seconds = lease_seconds
        self.handed_on: deque[MemberRequest] = deque()
        self._members: dict[Task, ClusterMember] = {}
        self._own_beat = messages.Beat("starting", "starting")
        self._beat_at_seconds = 0.0
        self._just_joined: list[Task] = []
        self._found_at_seconds = time.monotonic() + _FOUND_SECONDS
        self.fileno = server.fileno
        self.flush = server.flush
        self.close = server.close

    @property
    def members(self) -> tuple[ClusterMember, ...]:
        return tuple(member for _, member in sorted(self._members.items()))

    @property
    def rows(self) -> tuple[messages.TaskRow, ...]:
        """A row for each task that has joined; this run's is the first."""
        own = self._own_beat
        task, host = str(self.gang.own), socket.gethostname()
        first = messages.TaskRow(task, host, own.state, own.phase, own.step)
        return (first, *(member.row for member in self.members))

    @property
    def _live(self) -> tuple[ClusterMember, ...]:
        return tuple(member for member in self._members.values() if member.is_live)

    def heard(self) -> tuple[Event, ...]:
        return tuple(event for each in self._server.take() if (event := self._on(each)))

    def tick(self, beat: messages.Beat) -> tuple[Event, ...]:
        now = time.monotonic()
        self._own_beat = beat
        self.gang.beat(self.gang.own, beat)
        # A member waits for its first one; the others have theirs: there may be thousands.
        joined, self._just_joined = self._just_joined, []
        if now >= self._beat_at_seconds:
            self._beat_at_seconds = now + roster.BEAT_SECONDS
            self.beat(beat)
        else:
            for task in joined:
                self._server.send(task, beat)
        for each in self._live:
            if each.lease.is_late(now):
                # TensorFlow may take it for crashed before its lease is over.
                self.gang.absent.setdefault(each.task, _SILENT)
        silent = [replace(each, lost=True) for each in self._live if each.lease.is_over(now)]
        return tuple(self._ended(member) for member in silent)

    def gone_for_good(self, *, launched: bool) -> str:
        """A member that trains and whose run has ended before the training; empty for none.

        `launched`: all are on this machine, and a run that was killed is not started again.
        """
        ended = (
            each
            for each in self.members
            if (each.end and each.end.state != "completed")
            or (launched and each.lost and not is_there(each.pid))
        )
        return next((str(each.task) for each in ended if each.task.trains), "")

    def beat(self, beat: messages.Beat) -> None:
        for member in self._live:
            self._server.send(member.task, beat)

    def shift(self, seconds: float) -> None:
        """This process did not run for so long: that the members were silent does not count."""
        for member in self.members:
            lease = member.lease.shifted(seconds)
            self._members[member.task] = replace(member, lease=lease)

    def end(self, end: messages.Release) -> None:
        for member in roster.next_to_release(self._live, end.outcome):
            self._members[member.task] = replace(member, released=True)
            self._server.send(member.task, end)

    @property
    def has_members(self) -> bool:
        """Whether there are members; also while some may still be about to join."""
        return bool(self._live) or time.monotonic() < self._found_at_seconds

    @property
    def has_workers(self) -> bool:
        return any(member.works and member.task.trains for member in self._live)

    def _on(self, happening: Heard | Parted | Trouble) -> Event | None:
        match happening:
            case Trouble(reason):
                return events.Notice(TROUBLE, f"A member of the cluster: {reason}.")
            case Parted(task):
                member = self._members[task]
                if member.is_live:
                    self.gang.parted(task)
                    lease = member.lease.parted(time.monotonic())
                    self._members[task] = replace(member, lease=lease)
            case Heard(_, messages.JoinRequest() as request):
                return self._joined(request)
            case Heard(task, messages.StopProposal() as proposal):
                return stop_request(task, proposal)
            case Heard(task, messages.Beat() | messages.EndReport() as message):
                before = self._members[task]
                member = before.heard(message, time.monotonic())
                if isinstance(message, messages.EndReport):
                    return self._ended(member)
                self._members[task] = member
                self.gang.beat(task, message)
                if before.beat.serves and not message.serves and message.state == "starting":
                    return events.MemberRestarted(str(task), before.host)
            case Heard(task, message):
                self._on_request(task, message)
        return None

    def _on_request(self, task: Task, message: Message) -> None:
        match message:
            case messages.ToLeader():
                self.gang.hear(task, message)
            case messages.RowsRequest():
                rows = self.rows
                for sent, row in enumerate(rows, 1):
                    self._server.send(task, replace(row, more=len(rows) - sent))
            case messages.CheckpointRequest():
                self.handed_on.append(MemberRequest(task, message, self._server))

    def _joined(self, request: messages.JoinRequest) -> Event:
        task = Task.parse(request.task)
        before = self._members.get(task)
        self.gang.joined(task, same=before is None or before.pid == request.pid)
        lease = BeatLease(self._lease_seconds, time.monotonic())
        self._members[task] = ClusterMember.joining(request, lease)
        self._just_joined.append(task)
        return events.MemberJoined(request.task, request.host, request.pid)

    def _ended(self, member: ClusterMember) -> Event:
        self._members[member.task] = member
        if member.end is None or member.end.state != "completed":
            reason = "its run has ended" if member.end else _SILENT
            self.gang.lost(member.task, reason)
        task, end = str(member.task), member.end
        if end is None:
            return events.MemberEnded(task, member.host, "lost")
        return events.MemberEnded(task, member.host, end.state, end.exit_code)


def stop_request(task: Task, proposal: messages.StopProposal) -> events.StopRequested:
    urgency = "now" if proposal.now else "graceful"
    return events.StopRequested("cluster", urgency, reason=f"{task}: {proposal.reason}")


class Following:
    """The leader, as another member sees it; `connected`: it hears what this member says.

    `completed_at_seconds`: when that was heard first, by a monotonic clock.
    `handed_on`: its answers to what this member was asked.
    """

    def __init__(self, leader: Task, client: MemberClient, lease_seconds: float) -> None:
        self.leader = leader
        self._client = client
        self._lease_seconds = lease_seconds
        self.lease: BeatLease | None = None  # None until the leader is heard
        self._began_seconds = time.monotonic()
        self.orders: deque[messages.ToMember] = deque()
        self.handed_on: deque[LeaderReply] = deque()
        self._requests = 0  # for checkpoints, so far
        self._rows: tuple[messages.TaskRow, ...] = ()
        self._rows_at_seconds = -math.inf
        self._coming: list[messages.TaskRow] = []  # the next rows, as long as some are missing
        self.connected = False
        self._told_level: messages.ToLeader | None = None  # a muster begins with no doubt
        self.completed_at_seconds = math.inf
        self._released = False  # by the leader, or because it is silent
        self._beat_at_seconds = 0.0  # when the next message that this member is there is due
        self.fileno = client.fileno
        self.flush = client.flush
        self.close = client.close

    @property
    def unreached_seconds(self) -> float:
        """How long the leader has been looked for; 0 if it has ever answered."""
        return 0.0 if self.lease else time.monotonic() - self._began_seconds

    def heard(self) -> tuple[Event, ...]:
        return tuple(event for each in self._client.take() if (event := self._on(each)))

    def tick(self, beat: messages.Beat) -> tuple[Event, ...]:
        now = time.monotonic()
        if self.connected and now >= self._beat_at_seconds:
            self._beat_at_seconds = now + roster.BEAT_SECONDS
            self.beat(beat)
        if self.lease is None or self._released or not self.lease.is_over(now):
            return ()
        self._released = True
        reason = f"no message from {self.leader} for {self._lease_seconds:g} s"
        if not self.connected:
            reason = f"the connection to {self.leader} was closed"
        is_over = beat.serves and self.completed_at_seconds < math.inf
        outcome, code = ("completed", EXIT_COMPLETED) if is_over else ("lost", EXIT_STOPPED)
        return (events.MemberReleased(str(self.leader), outcome, code, reason),)

    def beat(self, beat: messages.Beat) -> None:
        self._client.send(self.leader, beat)

    def shift(self, seconds: float) -> None:
        """This process did not run for so long: that the leader was silent does not count."""
        self._began_seconds += seconds
        if self.lease is not None:
            self.lease = self.lease.shifted(seconds)

    def propose_stop(self, reason: str) -> None:
        self._client.send(self.leader, messages.StopProposal(reason))

    @property
    def rows(self) -> tuple[messages.TaskRow, ...]:
        """A row for each task, as the leader said a moment ago; empty if it has not yet."""
        if not self.connected:
            return (roster.no_answer(str(self.leader)),)
        is_new = time.monotonic() - self._rows_at_seconds < _ROWS_SECONDS
        return self._rows if is_new else ()

    def ask_rows(self) -> None:
        self._client.send(self.leader, messages.RowsRequest())

    def ask_checkpoint(self, name: str) -> int:
        """The number of the request, from 1, which the leader's answer has."""
        self._requests += 1
        self._client.send(self.leader, messages.CheckpointRequest(self._requests, name))
        return self._requests

    def tell_gang(self, message: messages.ToLeader) -> None:
        if isinstance(message, messages.Muster | messages.LevelReport):
            self._told_level = message
        self._client.send(self.leader, message)

    def end(self, end: messages.Release) -> None:
        self._client.send(self.leader, messages.EndReport(end.outcome, end.exit_code))

    def _on(self, happening: Heard | Parted | Trouble) -> Event | None:
        match happening:
            case Trouble(reason):
                return events.Notice(LEADER_TROUBLE, f"The leader of the cluster: {reason}.")
            case Parted() if self.lease is not None:
                self.connected = False
                self._coming = []
                refusal = Refusal(f"The connection to {self.leader} was closed.")
                self.handed_on.append(LeaderReply(0, refusal))
                self.lease = self.lease.parted(time.monotonic())
            case Heard(_, messages.Beat() as beat):
                before, self.connected, now = self.connected, True, time.monotonic()
                heard = self.lease or BeatLease(self._lease_seconds, 0.0)
                self.lease = heard.renewed(now, suspended=beat.state == roster.SUSPENDED)
                if beat.state == "completed" and self.completed_at_seconds == math.inf:
                    self.completed_at_seconds = now
                    if before:
                        return events.MemberEnded(str(self.leader), "", beat.state)
                if not before and isinstance(self._told_level, messages.LevelReport):
                    self._client.send(self.leader, self._told_level)  # may be lost
                return None if before else events.LeaderFound(str(self.leader))
            case Heard(_, messages.Release() as release):
                self._released = True
                words = (release.outcome, release.exit_code, release.reason)
                return events.MemberReleased(str(self.leader), *words)
            case Heard(_, message):
                self._on_answer(message)
        return None

    def _on_answer(self, message: Message) -> None:
        match message:
            case messages.ToMember():
                self.orders.append(message)
            case messages.TaskRow():
                self._coming.append(message)
                if not message.more:
                    self._rows, self._coming = tuple(self._coming), []
                    self._rows_at_seconds = time.monotonic()
            case messages.CheckpointReply(number, checkpoint, step, refusal):
                answer = CheckpointAnswer(checkpoint, step, by=str(self.leader))
                refused = Refusal(f"{self.leader}: {refusal}")
                self.handed_on.append(LeaderReply(number, refused if refusal else answer))
