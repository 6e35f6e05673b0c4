"""The part of a member that does not lead: it follows the leader, and ends when that has ended."""

from __future__ import annotations

import time
from collections import deque

from pitstop.cluster.gang import ToLeader, ToMember
from pitstop.cluster.messages import Beat, EndReport, Release, StopProposal
from pitstop.cluster.network_thread import Heard, MemberClient, Parted, Trouble
from pitstop.cluster.roster import BEAT_SECONDS, SUSPENDED, BeatLease
from pitstop.cluster.spec import Task
from pitstop.events import Event, LeaderFound, MemberReleased, Notice
from pitstop.exit_codes import EXIT_STOPPED

TROUBLE = "cluster_leader"


class Following:
    """The leader, as another member sees it; `connected`: it hears what this member says."""

    def __init__(self, leader: Task, client: MemberClient, lease_seconds: float) -> None:
        self.leader = leader
        self._client = client
        self._lease_seconds = lease_seconds
        self._lease: BeatLease | None = None
        self.orders: deque[ToMember] = deque()
        self.connected = False
        self._released = False
        self._beat_at_seconds = 0.0
        self.fileno = client.fileno

    def heard(self) -> tuple[Event, ...]:
        return tuple(event for each in self._client.take() if (event := self._on(each)))

    def tick(self, beat: Beat) -> tuple[Event, ...]:
        now = time.monotonic()
        if self.connected and now >= self._beat_at_seconds:
            self._beat_at_seconds = now + BEAT_SECONDS
            self.beat(beat)
        if self._lease is None or self._released or not self._lease.is_over(now):
            return ()
        self._released = True
        reason = f"no message from {self.leader} for {self._lease_seconds:g} s"
        return (MemberReleased(str(self.leader), "lost", EXIT_STOPPED, reason),)

    def beat(self, beat: Beat) -> None:
        self._client.send(beat)

    def shift(self, seconds: float) -> None:
        """This process was away: the leader was not silent meanwhile."""
        if self._lease is not None:
            self._lease = self._lease.shifted(seconds)

    def propose_stop(self, reason: str) -> None:
        self._client.send(StopProposal(reason))

    def tell_gang(self, message: ToLeader) -> None:
        self._client.send(message)

    def end(self, end: Release) -> None:
        self._client.send(EndReport(end.outcome, end.exit_code))

    def close(self) -> None:
        self._client.close()

    def _on(self, happening: Heard | Parted | Trouble) -> Event | None:
        match happening:
            case Trouble(reason):
                return Notice(TROUBLE, f"The leader of the cluster: {reason}.")
            case Parted() if self._lease is not None:
                self.connected = False
                self._lease = self._lease.parted(time.monotonic())
            case Heard(_, Beat() as beat):
                before, self.connected = self.connected, True
                heard = self._lease or BeatLease(self._lease_seconds, 0.0)
                self._lease = heard.renewed(time.monotonic(), suspended=beat.state == SUSPENDED)
                return None if before else LeaderFound(str(self.leader))
            case Heard(_, message) if isinstance(message, ToMember):
                self.orders.append(message)
            case Heard(_, Release() as release):
                self._released = True
                words = (release.outcome, release.exit_code, release.reason)
                return MemberReleased(str(self.leader), *words)
        return None
