"""The gang of the members that train together, and the network between them and their leader."""

from __future__ import annotations

import secrets
from collections import deque
from typing import TYPE_CHECKING

from pitstop.cluster.gang import GangLeader, LeaderProgress, Orders, ToLeader, ToMember
from pitstop.cluster.messages import MemberDown
from pitstop.cluster.resume_agreement import gang_name
from pitstop.cluster.spec import ClusterSpec, Task

if TYPE_CHECKING:
    from pitstop.cluster.leader_server import LeaderServer


class GangLeading:
    """The leader's part in a gang; it is a member, too, which needs no network.

    Attributes:
        orders: for this run's own trainer, in order.
        parted: members whose connection is closed, and that may come back.
    """

    def __init__(self, server: LeaderServer, spec: ClusterSpec, own: Task) -> None:
        self.orders: deque[ToMember] = deque()
        self.parted: set[Task] = set()
        self._server = server
        self._own = own
        members = spec.trainers
        self._gang = GangLeader(members, own, lambda: gang_name(secrets.token_hex(4), len(members)))

    def hear(self, task: Task, message: ToLeader) -> None:
        """A member has said something.

        Where a trainer fails while the supervisor of another one is out of reach, it is that one
        whose machine is gone.
        """
        out_of_reach = self.parted - {task}
        if isinstance(message, MemberDown) and out_of_reach:
            self.lost(min(out_of_reach), "its supervisor is out of reach")
        self._send(self._gang.hear(task, message))

    def hear_own(self, message: ToLeader) -> None:
        """This run says something as a member."""
        self.hear(self._own, message)

    def ask_stop(self, reason: str, progress: LeaderProgress) -> None:
        """All are to stop at one step."""
        self._send(self._gang.ask_stop(reason, progress))

    def lost(self, task: Task, reason: str) -> None:
        """A member is gone, or its supervisor is silent."""
        self._send(self._gang.lost(task, reason))

    def joined(self, task: Task, *, same: bool) -> None:
        """A member has come, or has come back; as another process, if it is not the same."""
        self.parted.discard(task)
        if not same:
            self.lost(task, "its run has begun again")
            self._gang.forget(task)

    def tick(self, now_seconds: float, progress: LeaderProgress) -> None:
        """What is due by the clock."""
        self._send(self._gang.tick(now_seconds, progress))

    def _send(self, orders: Orders) -> None:
        for task, order in orders:
            if task == self._own:
                self.orders.append(order)
            else:
                self._server.send(task, order)
