"""A leader and its members, and a network that loses, repeats and reorders what they say.

The leader is `GangLeader`; the network tells it, and brings its orders to the members.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import random
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pitstop.cluster.gang import GangLeader
from pitstop.cluster.messages import ToLeader, ToMember
from pitstop.cluster.spec import Task

MOST_SECONDS = 60.0


@dataclass(frozen=True)
class Conditions:
    """How the network and the trainers are.

    In lockstep, no step ends before all have entered it; else everybody is as fast as it is.
    `charged`: the leader is busy for as long as its answers really take on this machine.
    """

    count: int
    seed: int
    loss: float = 0.0
    latency_seconds: float = 0.02
    lockstep: bool = True
    step_seconds: float = 0.01
    crash: bool = False
    charged: bool = False


class SimulatedNetwork(ABC):
    """What is sent may be lost, come twice, and come later than what follows."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.chance = random.Random(conditions.seed)
        self.tasks = [Task("worker", index) for index in range(conditions.count)]
        names = itertools.count(1)
        self.leader = GangLeader(
            frozenset(self.tasks), self.tasks[0], lambda: f"a{next(names)}-{conditions.count}"
        )
        self.now = 0.0
        self.sent_messages = 0
        self.busy_seconds = 0.0
        self._dead: set[Task] = set()
        self._busy_until = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    @abstractmethod
    def _obey(self, task: Task, order: ToMember) -> None:
        """An order has reached a member."""

    def _play(self, is_over: Callable[[], bool]) -> None:
        while self.now < MOST_SECONDS and not is_over():
            self.now, _, happens = heapq.heappop(self._events)
            happens()

    def _post(self, at_seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_seconds, next(self._number), happens))

    def _send(self, task: Task, begins_seconds: float, arrives: Callable[[], None]) -> None:
        """From a member or to it."""

        def delivered() -> None:
            if task not in self._dead:
                arrives()

        self.sent_messages += 1
        for _ in range(2 if self.chance.random() < 0.05 else 1):
            if self.chance.random() >= self.conditions.loss:
                delay = self.chance.uniform(0.0001, self.conditions.latency_seconds)
                self._post(begins_seconds + delay, delivered)

    def _tell(self, task: Task, message: ToLeader) -> None:
        heard = functools.partial(self.leader.hear, task, message)
        self._send(task, self.now, lambda: self._lead(heard))

    def _lead(self, decide: Callable[[], Iterable[tuple[Task, ToMember]]]) -> None:
        began = time.thread_time()
        orders = decide()
        if self.conditions.charged:
            seconds = time.thread_time() - began
            self.busy_seconds += seconds
            self._busy_until = max(self._busy_until, self.now) + seconds
        for task, order in orders:
            self._send(task, self._says_at, functools.partial(self._obey, task, order))

    @property
    def _says_at(self) -> float:
        return max(self._busy_until, self.now)
