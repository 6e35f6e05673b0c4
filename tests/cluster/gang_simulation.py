"""Members that train, and their leader, who is asked for a stop; the network loses messages.

The leader is `GangLeader`; a member answers as `supervisor.attempt.gang` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from pitstop.cluster import stop_agreement
from pitstop.cluster.gang import LeaderProgress
from pitstop.cluster.messages import (
    Commit,
    GangOver,
    Hold,
    HoldAnswer,
    Muster,
    ResumeAnswer,
    ToMember,
)
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import CONFIRMS
from tests.cluster.simulated_network import Conditions, SimulatedNetwork

NEVER = 1 << 62
ASKED_AT_SECONDS = 0.3
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


class Simulation(SimulatedNetwork):
    """Members that train, until all have stopped."""

    def __init__(self, conditions: Conditions) -> None:
        super().__init__(conditions)
        self.trainers = {task: Trainer() for task in self.tasks}
        self.heard: dict[Task, Hold] = {}
        self.answers: dict[Task, HoldAnswer] = {}
        self.rounds = 0
        self.agreed_seconds: float | None = None  # since the request
        self.stopped_seconds: float | None = None  # since the request, until the last has stopped
        self._ended: set[Task] = set()
        self._computed: set[Task] = set()
        for message in (Muster(1), ResumeAnswer(1, verified=True)):
            for task in self.tasks:
                self.leader.hear(task, message)
        assert self.leader.is_ready

    def run(self) -> int | None:
        """The agreed step, if there is one."""
        for task in self.tasks:
            self._enter(task)
        self._post(ASKED_AT_SECONDS, self._ask)
        if self.conditions.crash:
            victim = self.chance.choice(self.tasks)
            moment = ASKED_AT_SECONDS + self.chance.uniform(0.0, 0.1)
            self._post(moment, lambda: self._crash(victim))
        self._play(lambda: len(self._ended) == len(self.tasks))
        if self.leader.stop_step is not None:
            self.stopped_seconds = self.now - ASKED_AT_SECONDS
        return self.leader.stop_step

    def stopped(self) -> set[int]:
        """The steps at which members have stopped."""
        return {each.stopped_at for each in self.trainers.values() if each.stopped_at >= 0}

    # -- the leader ----------------------------------------------------------------------

    def _lead(self, decide: Callable[[], Iterable[tuple[Task, ToMember]]]) -> None:
        super()._lead(decide)
        if self.agreed_seconds is None and self.leader.stop_step is not None:
            self.agreed_seconds = self._says_at - ASKED_AT_SECONDS

    def _progress(self) -> LeaderProgress:
        return LeaderProgress(self.trainers[self.tasks[0]].entering, trains=False)

    def _ask(self) -> None:
        self._lead(lambda: self.leader.ask_stop(REASON, self._progress()))
        self._tick()

    def _tick(self) -> None:
        self._lead(lambda: self.leader.tick(self.now, self._progress()))
        self._post(self._says_at + TICK_SECONDS, self._tick)

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
            self.rounds = max(self.rounds, order.round)
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
