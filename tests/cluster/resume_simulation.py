"""Members whose trainers wait to begin, and their leader; a trainer may die and begin again.

A member says what it holds and answers as `supervisor.attempt.gang` does.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass

from pitstop.cluster.gang import LeaderProgress
from pitstop.cluster.messages import (
    GangOver,
    GangReady,
    MemberDown,
    Muster,
    ResumeAnswer,
    ResumeProposal,
    ToMember,
)
from pitstop.cluster.resume_agreement import ANEW, mark_of, pause_seconds
from pitstop.cluster.spec import Task
from tests.cluster.simulated_network import Conditions, SimulatedNetwork

MOST_STEPS = 8
START_SECONDS = 2.0  # of a trainer that has died
PATIENCE_SECONDS = 10.0  # of TensorFlow with a trainer that others do not join
READ_SECONDS = 0.02
TICK_SECONDS = 0.01


@dataclass
class Waiting:
    """A member: the steps it holds, newest first, and those of them that are damaged."""

    holds: tuple[int, ...]
    damaged: frozenset[int]
    attempt: int = 1
    said: int = 0
    begun: GangReady | None = None


class ResumeSimulation(SimulatedNetwork):
    """Until all have begun; each holds some of the states, and some of them are damaged."""

    def __init__(self, conditions: Conditions, *, chance_of_damage: float = 0.0) -> None:
        super().__init__(conditions)
        self._before = f"before-{conditions.count}"
        self.all_begun_seconds: float | None = None
        self.members = {task: self._member(chance_of_damage) for task in self.tasks}
        self.begun: list[tuple[Task, GangReady]] = []

    def _member(self, chance_of_damage: float) -> Waiting:
        steps = range(MOST_STEPS, 0, -1)
        holds = tuple(step for step in steps if self.chance.random() < 0.9)
        damaged = frozenset(step for step in holds if self.chance.random() < chance_of_damage)
        return Waiting(holds, damaged)

    def run(self) -> None:
        """Plays until all have begun together, or for a minute."""
        for task in self.tasks:
            self._muster(task, 1)
        if self.conditions.crash:
            victim = self.chance.choice(self.tasks)
            self._post(self.chance.uniform(0.0, 3.0), lambda: self._crash(victim))
        self._tick()
        self._play(lambda: self.together is not None)
        if self.together is not None:
            self.all_begun_seconds = self.now

    def saved_at(self, step: int) -> str:
        """The mark of a state that the gang before has saved."""
        return mark_of(self._before, 0, step, "")

    @property
    def together(self) -> GangReady | None:
        """What all have begun with."""
        first = self.members[self.tasks[0]].begun
        if first is None or len(self.begun) < len(self.tasks):
            return None
        begun = {each.begun.gang for each in self.members.values() if each.begun}
        all_begun = all(each.begun for each in self.members.values())
        return first if all_begun and len(begun) == 1 else None

    def best(self) -> str:
        """The newest state that all hold, and that nobody finds damaged."""
        held = set.intersection(*(set(each.holds) for each in self.members.values()))
        damaged = {step for each in self.members.values() for step in each.damaged}
        return self.saved_at(max(held - damaged)) if held - damaged else ANEW

    def _tick(self) -> None:
        self._lead(lambda: self.leader.tick(self.now, LeaderProgress(0, trains=False)))
        self._post(self._says_at + TICK_SECONDS, self._tick)

    def _muster(self, task: Task, attempt: int) -> None:
        member = self.members[task]
        if member.attempt != attempt or member.begun is not None:
            return
        marks = [self.saved_at(step) for step in member.holds]
        self._tell(task, Muster(attempt, marks, ["exact"] * len(marks), [self._before]))
        self._post(self.now + pause_seconds(member.said), lambda: self._muster(task, attempt))
        member.said += 1

    def _crash(self, task: Task) -> None:
        self._tell(task, MemberDown(self.members[task].attempt, "its process was killed"))
        self._begin_again(task)
        for other in self.tasks:
            # TensorFlow ends them where nobody has told them.
            attempt = self.members[other].attempt
            ended = functools.partial(self._missed, other, attempt)
            self._post(self.now + START_SECONDS, ended)

    def _missed(self, task: Task, attempt: int) -> None:
        if self.members[task].attempt == attempt:
            self._tell(task, MemberDown(attempt, "its process returned 1"))
            self._begin_again(task)

    def _trained_alone(self, task: Task, begun: GangReady) -> None:
        """TensorFlow ends a trainer whose first step others do not enter."""
        if self.together is None and self.members[task].begun == begun:
            self._missed(task, begun.attempt)

    def _begin_again(self, task: Task) -> None:
        member = self.members[task]
        member.attempt, member.begun, member.said = member.attempt + 1, None, 0
        attempt = member.attempt
        self._post(self.now + START_SECONDS, lambda: self._muster(task, attempt))

    def _obey(self, task: Task, order: ToMember) -> None:
        member = self.members[task]
        match order:
            case ResumeProposal(number, mark) if member.begun is None:
                member.said = 0
                answer = ResumeAnswer(number, mark not in map(self.saved_at, member.damaged))
                read_at = self.now + self.chance.uniform(0.0, READ_SECONDS)
                self._post(read_at, lambda: self._tell(task, answer))
            case GangReady(attempt) if member.begun is None and attempt == member.attempt:
                member.begun = order
                self.begun.append((task, order))
                alone = functools.partial(self._trained_alone, task, order)
                self._post(self.now + PATIENCE_SECONDS, alone)
            case GangOver(gang) if member.begun is None or member.begun.gang == gang:
                self._begin_again(task)
