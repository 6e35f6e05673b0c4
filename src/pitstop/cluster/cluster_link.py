"""Whether this run is a member of a cluster, and which; the network begins with the first role."""

import math
import os
import resource
import socket
import time
from collections.abc import Iterator, Mapping

from pitstop import __version__
from pitstop.cluster import roster, secret
from pitstop.cluster.gang import LeaderProgress
from pitstop.cluster.leading import Following, GangLeading, LeaderReply, Leading, MemberRequest
from pitstop.cluster.messages import PROTOCOL, Beat, JoinRequest, Release, ToLeader, ToMember
from pitstop.cluster.network_thread import LeaderServer, MemberClient
from pitstop.cluster.roster import LEASE_SECONDS
from pitstop.cluster.spec import ClusterSpec, Task, leader_endpoint
from pitstop.durations import duration
from pitstop.errors import UserError
from pitstop.events import Event, JsonValue, Notice

LEASE_VARIABLE = "PITSTOP_CLUSTER_LEASE"
LINGER_VARIABLE = "PITSTOP_CLUSTER_LINGER"
LINGER_SECONDS = 30.0
"""For a member that can train no more, when the leader has completed."""
UNUSED = "cluster_unused"
SUSPENSION = "suspended"  # the code of a notice
MEMBERS_SECONDS = 20.0
"""For the other members, when the run that leads them was stopped or has failed."""
_AWAY_SECONDS = 3.0  # after so long, TensorFlow may take suspended members for lost
_OWN_FILES = 200  # open in a supervisor beside its connections, at most
_REMEDY = "This process is supervised alone and will not be told when the training ends."


class ClusterLink:
    """The cluster of a run, for all its attempts."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = environment
        self.lease_seconds, self.linger_seconds = LEASE_SECONDS, LINGER_SECONDS
        self.part: Leading | Following | None = None
        self._problem = ""
        self._ticked_seconds = time.monotonic()

    @property
    def leader(self) -> str:
        """The task that leads; empty where it is this run, or does not answer."""
        return str(self.follows.leader) if self.follows else ""

    @property
    def leads(self) -> Leading | None:
        return self.part if isinstance(self.part, Leading) else None

    @property
    def members(self) -> list[JsonValue]:
        """A row of each task; of a member, what its leader has said a moment ago."""
        return [row.shown for row in self.part.rows] if self.part else []

    @property
    def follows(self) -> Following | None:
        part = self.part
        return part if isinstance(part, Following) and part.connected else None

    def join(self, spec: ClusterSpec, task: Task) -> tuple[Notice, ...]:
        """Takes part in the cluster of a process of this run; returns a notice if it cannot."""
        if self.part is not None or len(spec.addresses) < 2:
            return ()
        try:
            self.part = self._opened(spec, task)
            self._ticked_seconds = time.monotonic()
        except (UserError, OSError, ValueError) as problem:
            if str(problem) == self._problem:
                return ()
            self._problem = str(problem)
            remedy = (problem.remedy if isinstance(problem, UserError) else "") or _REMEDY
            message = problem.message if isinstance(problem, UserError) else str(problem)
            text = f"The cluster cannot be joined: {message.rstrip('.')}."
            return (Notice(UNUSED, text, remedy),)
        return ()

    # -- of members that train together, see `cluster.gang` ------------------------------

    def orders(self) -> Iterator[ToMember]:
        while self.part is not None and self.part.orders:
            yield self.part.orders.popleft()

    def tell_gang(self, message: ToLeader) -> None:
        if self.part is not None:
            self.part.tell_gang(message)

    def ask_gang_stop(self, reason: str, progress: LeaderProgress) -> None:
        if isinstance(self.part, Following):
            self.part.propose_stop(reason)
        elif self.part is not None:
            self.part.gang.ask_stop(reason, progress)

    def handed_on(self) -> Iterator[MemberRequest | LeaderReply]:
        """Requests that members pass on to this leader; or the leader's answers to this member."""
        while self.part is not None and self.part.handed_on:
            yield self.part.handed_on.popleft()

    def heard(self) -> tuple[Event, ...]:
        return self.part.heard() if self.part else ()

    def tick(self, beat: Beat) -> tuple[Event, ...]:
        if self.part is None:
            return ()
        now = time.monotonic()
        away_seconds, self._ticked_seconds = now - self._ticked_seconds, now
        if away_seconds <= _AWAY_SECONDS:
            return self.part.tick(beat)
        # This process was suspended, and has not yet read the messages that came in that time.
        self.part.shift(away_seconds)
        return (suspension_notice(away_seconds), *self.part.tick(beat))

    def beat_now(self, beat: Beat) -> None:
        """Sends a beat, and returns when it has gone out: this process may be suspended then."""
        if self.part is not None:
            self.part.beat(beat)
            self.part.flush()

    def end(self, end: Release) -> None:
        """Tells the members how this run ended, in their order, until none is awaited."""
        if self.part is not None:
            self.part.end(end)

    @property
    def is_awaited(self) -> bool:
        """Whether this run leads members that are still there."""
        return self.leads is not None and self.leads.has_members

    @property
    def awaited_leader(self) -> Task | None:
        return self.part.leader if isinstance(self.part, Following) else None

    @property
    def unreached_seconds(self) -> float:
        """How long a leader that has never answered has been looked for; else 0."""
        return self.part.unreached_seconds if isinstance(self.part, Following) else 0.0

    @property
    def is_late(self) -> bool:
        """Whether the leader of this run is silent, and has not been given up yet."""
        lease = self.part.lease if isinstance(self.part, Following) else None
        return lease is not None and lease.is_late(time.monotonic())

    @property
    def over_seconds(self) -> float:
        """How long ago the leader of this run completed; below 0 while it has not."""
        part = self.part
        completed = part.completed_at_seconds if isinstance(part, Following) else math.inf
        return time.monotonic() - completed

    @property
    def has_workers(self) -> bool:
        """Whether this run leads members that train, not only some that serve or evaluate."""
        return self.leads is not None and self.leads.has_workers

    def close(self) -> None:
        if self.part:
            self.part.close()

    def _opened(self, spec: ClusterSpec, task: Task) -> Leading | Following:
        endpoint = leader_endpoint(spec, self._environment)
        self.lease_seconds = self._seconds(LEASE_VARIABLE, LEASE_SECONDS)
        self.linger_seconds = self._seconds(LINGER_VARIABLE, LINGER_SECONDS)
        known = secret.find(self._environment)
        if task == spec.leader:
            _check_open_files(len(spec.addresses))
            server = LeaderServer(endpoint, known, lambda request: roster.objection(spec, request))
            server.start()
            return Leading(server, self.lease_seconds, GangLeading(server, spec, task))
        assert spec.leader is not None
        introduction = JoinRequest(
            PROTOCOL, str(task), spec.counts, __version__, socket.gethostname(), os.getpid()
        )
        client = MemberClient(spec.leader, endpoint, known, introduction)
        client.start()
        return Following(spec.leader, client, self.lease_seconds)

    def _seconds(self, variable: str, otherwise: float) -> float:
        text = self._environment.get(variable, "")
        try:
            return float(text or otherwise)
        except ValueError:
            raise ValueError(f"{variable}={text} is not a number of seconds") from None


def suspension_notice(seconds: float) -> Notice:
    """The notice that this run was suspended for so long."""
    return Notice(SUSPENSION, f"The run was suspended for {duration(seconds)}.")


def _check_open_files(members: int) -> None:
    """Raises `UserError` if the limit of open files leaves no room for a connection per member."""
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if 0 <= limit < members + _OWN_FILES:
        raise UserError(
            f"this process leads {members} tasks, but may open {limit} files at once",
            f"Raise the limit for the leader: `ulimit -n {members + _OWN_FILES}`.",
        )
