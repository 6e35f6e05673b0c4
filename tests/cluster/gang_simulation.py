"""Members that train, and their leader, who is asked for a stop; the network loses messages.

The leader is `GangLeader`; a member answers as `supervisor.attempt.gang` does.
"""

from __future__ import annotations

import functools
import heapq
import itertools
import random
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pitstop.cluster import stop_agreement
from pitstop.cluster.gang import GangLeader, LeaderProgress
from pitstop.cluster.messages import (
    Commit,
    GangOver,
    Hold,
    HoldAnswer,
    Muster,
    ResumeAnswer,
    ToLeader,
    ToMember,
)
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import CONFIRMS

NEVER = 1 << 62
ASKED_AT_SECONDS = 0.3
MOST_SECONDS = 60.0
TICK_SECONDS = 0.005
REASON = "worker 0: SIGTERM"


@dataclass
class Trainer:
    """What the trainer does with the words in the beacon, see `engine.lockstep`."""

    ended: int = 0
    entering: int = 1
    held: int = -1
    hold_at: int = NEVER
    stopped_at: int = -1

    def boundary(self) -> bool:
        """At the end of a step: whether the next one is entered."""
        if self.stopped_at >= 0:
            return False
        self.entering = self.ended + 1
        if self.hold_at <= self.ended:
            self.held = self.ended
            return False
        return True


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


class Simulation:
    """What is sent may be lost, come twice, and come later than what follows."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.chance = random.Random(conditions.seed)
        self.tasks = [Task("worker", index) for index in range(conditions.count)]
        self.trainers = {task: Trainer() for task in self.tasks}
        self.heard: dict[Task, Hold] = {}
        self.answers: dict[Task, HoldAnswer] = {}
        self.rounds = 0
        self.agreed_seconds: float | None = None  # since the request
        self.stopped_seconds: float | None = None  # since the request, until the last has stopped
        self.sent_messages = 0
        self.now = 0.0
        self.busy_seconds = 0.0
        self._dead: set[Task] = set()
        self._ended: set[Task] = set()
        self._computed: set[Task] = set()
        self._busy_until = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()
        self.leader = _formed(self.tasks)

    def run(self) -> int | None:
        """The agreed step, if there is one."""
        for task in self.tasks:
            self._enter(task)
        self._post(ASKED_AT_SECONDS, self._ask)
        if self.conditions.crash:
            victim = self.chance.choice(self.tasks)
            moment = ASKED_AT_SECONDS + self.chance.uniform(0.0, 0.1)
            self._post(moment, lambda: self._crash(victim))
        while self.now < MOST_SECONDS and len(self._ended) < len(self.tasks):
            self.now, _, happens = heapq.heappop(self._events)
            happens()
        if self.leader.stop_step is not None:
            self.stopped_seconds = self.now - ASKED_AT_SECONDS
        return self.leader.stop_step

    def stopped(self) -> set[int]:
        """The steps at which members have stopped."""
        return {each.stopped_at for each in self.trainers.values() if each.stopped_at >= 0}

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

    # -- the leader ----------------------------------------------------------------------

    def _lead(self, decide: Callable[[], Iterable[tuple[Task, ToMember]]]) -> None:
        began = time.thread_time()
        orders = decide()
        if self.conditions.charged:
            seconds = time.thread_time() - began
            self.busy_seconds += seconds
            self._busy_until = max(self._busy_until, self.now) + seconds
        if self.agreed_seconds is None and self.leader.stop_step is not None:
            self.agreed_seconds = max(self._busy_until, self.now) - ASKED_AT_SECONDS
        for task, order in orders:
            if isinstance(order, Hold):
                self.rounds = max(self.rounds, order.round)
            says_at = max(self._busy_until, self.now)
            self._send(task, says_at, functools.partial(self._obey, task, order))

    def _progress(self) -> LeaderProgress:
        return LeaderProgress(self.trainers[self.tasks[0]].entering, trains=False)

    def _ask(self) -> None:
        self._lead(lambda: self.leader.ask_stop(REASON, self._progress()))
        self._tick()

    def _tick(self) -> None:
        self._lead(lambda: self.leader.tick(self.now, self._progress()))
        self._post(max(self.now, self._busy_until) + TICK_SECONDS, self._tick)

    def _crash(self, victim: Task) -> None:
        self._dead.add(victim)
        self._ended.add(victim)
        self._lead(lambda: self.leader.lost(victim, "its supervisor is silent"))
        if self.leader.stop_step is None:
            # Who does not hear of it is ended by the lease.
            self._post(self.now + 1.0, lambda: self._ended.update(self.tasks))

    # -- the members ---------------------------------------------------------------------

    def _enter(self, task: Task) -> None:
        if self.trainers[task].boundary():
            seconds = self.conditions.step_seconds * self.chance.uniform(0.5, 1.5)
            self._post(self.now + seconds, lambda: self._compute(task))
        if task in self.heard:
            self._tell_place(task)

    def _compute(self, task: Task) -> None:
        if task in self._dead:
            return
        self._computed.add(task)
        if self.conditions.lockstep and len(self._computed) < len(self.tasks):
            return
        for each in sorted(self._computed):
            self.trainers[each].ended += 1
            self._enter(each)
        self._computed.clear()

    def _obey(self, task: Task, order: ToMember) -> None:
        trainer = self.trainers[task]
        if isinstance(order, Commit):
            assert trainer.held == order.step == trainer.ended
            trainer.stopped_at = trainer.ended
            self._ended.add(task)
            self._tell(task, HoldAnswer(0, CONFIRMS, order.step))
        elif isinstance(order, GangOver):
            self._ended.add(task)
        elif isinstance(order, Hold):
            before = self.heard.get(task)
            if trainer.stopped_at >= 0 or (before is not None and order.round < before.round):
                return
            self.heard[task] = order
            self.answers.pop(task, None)
            waited = trainer.hold_at <= trainer.ended == trainer.held
            trainer.hold_at = order.step
            if waited and order.step > trainer.ended:
                self._enter(task)
            self._tell_place(task)

    def _tell_place(self, task: Task) -> None:
        trainer = self.trainers[task]
        answer = stop_agreement.answer_to(self.heard[task], trainer.entering, trainer.held)
        if trainer.stopped_at < 0 and answer != self.answers.get(task):
            self.answers[task] = answer
            self._tell(task, answer)

    def _tell(self, task: Task, message: ToLeader) -> None:
        heard = functools.partial(self.leader.hear, task, message)
        self._send(task, self.now, lambda: self._lead(heard))


def _formed(tasks: list[Task]) -> GangLeader:
    leader = GangLeader(frozenset(tasks), tasks[0], lambda: f"a-{len(tasks)}")
    for message in (Muster(1), ResumeAnswer(1, verified=True)):
        for task in tasks:
            leader.hear(task, message)
    assert leader.is_ready
    return leader
