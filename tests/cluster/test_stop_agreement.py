"""The agreement on a stop step, simulated: delays, losses, repetitions, other orders, crashes."""

from __future__ import annotations

import functools
import heapq
import itertools
import random
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pitstop.cluster import stop_agreement
from pitstop.cluster.messages import Commit, Hold, HoldAnswer
from pitstop.cluster.spec import Task
from pitstop.cluster.stop_agreement import HOLDS, ON_ITS_WAY, PASSED, Orders, StopAgreement

NEVER = 1 << 62
ASKED_AT_SECONDS = 0.3
MOST_SECONDS = 20.0
AFTER_A_CRASH_SECONDS = 2.0
W0, W1, W2 = (Task("worker", index) for index in range(3))
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
    """

    count: int
    seed: int
    loss: float = 0.0
    latency_seconds: float = 0.02
    lockstep: bool = True
    step_seconds: float = 0.01
    crash: bool = False


class Simulation:
    """Members that train, and a leader that asks for a stop; messages go astray."""

    def __init__(self, conditions: Conditions) -> None:
        self.conditions = conditions
        self.chance = random.Random(conditions.seed)
        self.tasks = [Task("worker", index) for index in range(conditions.count)]
        self.trainers = {task: Trainer() for task in self.tasks}
        self.heard: dict[Task, Hold] = {}
        self.dead: set[Task] = set()
        self.computed: set[Task] = set()
        self.agreement: StopAgreement | None = None
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def run(self) -> StopAgreement:
        for task in self.tasks:
            self._enter(task)
        self._post(ASKED_AT_SECONDS, self._ask)
        if self.conditions.crash:
            victim = self.chance.choice(self.tasks)
            moment = ASKED_AT_SECONDS + self.chance.uniform(0.0, 0.1)
            self._post(moment, lambda: self.dead.add(victim))
        most = AFTER_A_CRASH_SECONDS if self.conditions.crash else MOST_SECONDS
        while self._events and self.now < most and not self._all_have_stopped():
            self.now, _, happens = heapq.heappop(self._events)
            happens()
        assert self.agreement is not None
        return self.agreement

    def stopped(self) -> set[int]:
        return {each.stopped_at for each in self.trainers.values() if each.stopped_at >= 0}

    def _all_have_stopped(self) -> bool:
        return all(each.stopped_at >= 0 for each in self.trainers.values())

    def _post(self, at_seconds: float, happens: Callable[[], None]) -> None:
        heapq.heappush(self._events, (at_seconds, next(self._number), happens))

    def _send(self, task: Task, arrives: Callable[[], None]) -> None:
        """From a member or to it; what is not lost may come twice, and later than what follows."""

        def delivered() -> None:
            if task not in self.dead:
                arrives()

        for _ in range(2 if self.chance.random() < 0.05 else 1):
            if self.chance.random() >= self.conditions.loss:
                delay = self.chance.uniform(0.0001, self.conditions.latency_seconds)
                self._post(self.now + delay, delivered)

    def _say(self, orders: Orders) -> None:
        for task, order in orders:
            self._send(task, functools.partial(self._obey, task, order))

    def _ask(self) -> None:
        step = self.trainers[self.tasks[0]].entering + 1
        self.agreement, orders = stop_agreement.begun(frozenset(self.tasks), step, REASON)
        self._say(orders)
        self._post(self.now + 0.2, self._ask_again)

    def _ask_again(self) -> None:
        assert self.agreement is not None
        self._say(self.agreement.orders)
        self._post(self.now + 0.2, self._ask_again)

    def _enter(self, task: Task) -> None:
        if self.trainers[task].boundary():
            seconds = self.conditions.step_seconds * self.chance.uniform(0.5, 1.5)
            self._post(self.now + seconds, lambda: self._compute(task))

    def _compute(self, task: Task) -> None:
        if task in self.dead:
            return
        self.computed.add(task)
        if self.conditions.lockstep and self.computed != set(self.tasks):
            return
        for each in sorted(self.computed):
            self.trainers[each].ended += 1
            self._enter(each)
        self.computed.clear()

    def _obey(self, task: Task, order: Hold | Commit) -> None:
        trainer = self.trainers[task]
        if isinstance(order, Commit):
            assert trainer.held == order.step == trainer.ended
            trainer.stopped_at = trainer.ended
            return
        before = self.heard.get(task)
        if before is None or order.round > before.round:
            self.heard[task] = order
            waited = trainer.hold_at <= trainer.ended == trainer.held
            trainer.hold_at = order.step
            if waited and order.step > trainer.ended:
                self._enter(task)
        self._look(task)

    def _look(self, task: Task) -> None:
        trainer = self.trainers[task]
        if task in self.dead or trainer.stopped_at >= 0:
            return
        answer = stop_agreement.answer_to(self.heard[task], trainer.entering, trainer.held)
        self._send(task, lambda: self._hear(task, answer))
        if answer.state == ON_ITS_WAY:
            self._post(self.now + 0.02, lambda: self._look(task))

    def _hear(self, task: Task, answer: HoldAnswer) -> None:
        if self.dead:
            return
        assert self.agreement is not None
        self.agreement, orders = stop_agreement.answered(self.agreement, task, answer)
        self._say(orders)


@pytest.mark.parametrize("lockstep", [True, False])
@pytest.mark.parametrize(("loss", "latency_seconds"), [(0.0, 0.02), (0.2, 0.02), (0.02, 1.0)])
@pytest.mark.parametrize("count", [2, 3, 20])
def test_all_members_stop_at_one_step(
    count: int, loss: float, latency_seconds: float, *, lockstep: bool
) -> None:
    for seed in range(4):
        simulation = Simulation(Conditions(count, seed, loss, latency_seconds, lockstep))
        agreement = simulation.run()
        assert agreement.agreed
        assert simulation.stopped() == {agreement.step}


@settings(max_examples=40, deadline=None)
@given(
    count=st.integers(2, 6),
    seed=st.integers(0, 1 << 30),
    loss=st.floats(0.0, 0.4),
    step_seconds=st.sampled_from([0.0005, 0.005, 0.2]),
    lockstep=st.booleans(),
    crash=st.booleans(),
)
@example(count=4, seed=4, loss=0.171875, step_seconds=0.2, lockstep=False, crash=False)
def test_there_are_never_two_stop_steps(
    count: int, seed: int, loss: float, step_seconds: float, lockstep: bool, crash: bool
) -> None:
    conditions = Conditions(
        count, seed, loss, lockstep=lockstep, step_seconds=step_seconds, crash=crash
    )
    simulation = Simulation(conditions)
    agreement = simulation.run()
    assert simulation.stopped() <= {agreement.step}
    assert agreement.agreed or not simulation.stopped()
    assert simulation.stopped() or crash


def test_in_lockstep_two_rounds_are_enough() -> None:
    conditions = [Conditions(5, seed, latency_seconds=0.2) for seed in range(30)]
    assert max(Simulation(each).run().round for each in conditions) == 2


def test_who_holds_goes_on_when_those_who_had_passed_have_taken_note() -> None:
    agreement, _ = stop_agreement.begun(frozenset({W0, W1, W2}), 10, REASON)
    agreement, _ = stop_agreement.answered(agreement, W0, HoldAnswer(1, HOLDS, 10))
    agreement, _ = stop_agreement.answered(agreement, W1, HoldAnswer(1, PASSED, 11))
    agreement, orders = stop_agreement.answered(agreement, W2, HoldAnswer(1, ON_ITS_WAY, 10))
    assert orders == ((W1, Hold(2, 11, REASON)), (W2, Hold(2, 11, REASON)))
    agreement, orders = stop_agreement.answered(agreement, W1, HoldAnswer(2, ON_ITS_WAY, 11))
    assert orders == ()
    agreement, orders = stop_agreement.answered(agreement, W2, HoldAnswer(2, ON_ITS_WAY, 10))
    assert orders == ((W0, Hold(2, 11, REASON)),)
    for task in (W0, W2, W1):
        assert not agreement.agreed
        agreement, orders = stop_agreement.answered(agreement, task, HoldAnswer(2, HOLDS, 11))
    assert orders == tuple((task, Commit(11)) for task in (W0, W1, W2))


def test_an_answer_to_an_earlier_round_counts_for_nothing() -> None:
    agreement, _ = stop_agreement.begun(frozenset({W0, W1}), 10, REASON)
    agreement, _ = stop_agreement.answered(agreement, W0, HoldAnswer(1, PASSED, 11))
    agreement, _ = stop_agreement.answered(agreement, W1, HoldAnswer(1, PASSED, 11))
    assert (agreement.round, agreement.step) == (2, 11)
    assert stop_agreement.answered(agreement, W1, HoldAnswer(1, HOLDS, 11)) == (agreement, ())


@pytest.mark.parametrize(
    ("entering", "held", "state", "step"),
    [
        (9, -1, ON_ITS_WAY, 9),
        (10, 9, ON_ITS_WAY, 10),
        (11, 10, HOLDS, 10),
        (11, -1, PASSED, 11),
        (12, 10, PASSED, 12),
        (13, 12, PASSED, 12),
    ],
)
def test_what_a_member_answers(entering: int, held: int, state: str, step: int) -> None:
    answer = stop_agreement.answer_to(Hold(1, 10, REASON), entering, held)
    assert answer == HoldAnswer(1, state, step)
