"""Two members and their leader, without network and trainers: what each run does, and tells."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pitstop.cluster.cluster_link import suspension_notice
from pitstop.cluster.gang import GangLeader, LeaderProgress
from pitstop.cluster.messages import ToLeader, ToMember
from pitstop.cluster.roster import WAS_SUSPENDED
from pitstop.cluster.spec import REPLICA, Task
from pitstop.events import (
    Event,
    ExceptionRaised,
    GangBroken,
    GangFormed,
    GangStopped,
    LevelKnown,
    Notice,
    RoleTaken,
    StopRequested,
    TrainerExited,
    TrainingStalled,
)
from pitstop.link.beacon import NEVER, Beacon, Stop
from pitstop.supervisor.attempt.gang import GangPart
from pitstop.supervisor.lifecycle.occurrences import Occurrence, RoleAsked, StopAsked
from pitstop.supervisor.lifecycle.table import Instruction, State, Trigger
from pitstop.supervisor.records.attempt_state import AttemptState, tell

W0, W1 = Task("worker", 0), Task("worker", 1)
CLUSTER = {"worker": ["a:1", "b:1"]}
KILLED = TrainerExited(None, "SIGKILL", 7, 0, 7, "train", 0.1)


class Network:
    """Brings what members say to the leader, and its orders to them, at once."""

    def __init__(self) -> None:
        self.leader = GangLeader(frozenset({W0, W1}), W0, lambda: "a-2")
        self.orders: dict[Task, deque[ToMember]] = {W0: deque(), W1: deque()}

    def hear(self, task: Task, message: ToLeader) -> None:
        self.deliver(self.leader.hear(task, message))

    def deliver(self, orders: Iterable[tuple[Task, ToMember]]) -> None:
        for task, order in orders:
            self.orders[task].append(order)


class Link:
    """In the place of a `ClusterLink`."""

    part: Any = "there"
    follows: Any = None
    leads: Any = None
    over_seconds = -1.0

    def __init__(self, network: Network, task: Task) -> None:
        self.network, self.task = network, task

    def orders(self) -> Iterator[ToMember]:
        while self.network.orders[self.task]:
            yield self.network.orders[self.task].popleft()

    def tell_gang(self, message: ToLeader) -> None:
        self.network.hear(self.task, message)

    def ask_gang_stop(self, reason: str, progress: LeaderProgress) -> None:
        self.network.deliver(self.network.leader.ask_stop(reason, progress))


class Loads:
    """In the place of a `Restoring` that has nothing to restore."""

    ready = False
    agreed_on: tuple[str, str] | None = None
    alone: str | None = None
    doubt = ""

    def await_agreement(self) -> bool:
        return True

    def agreed(
        self, name: str, gang: str, _doubt: str, _common: set[str]
    ) -> tuple[Occurrence, ...]:
        self.agreed_on = name, gang
        return ()

    def agreed_on_nothing(
        self, reason: str, *, is_refused: bool, doubt: str
    ) -> tuple[Occurrence, ...]:
        self.alone, self.doubt = reason, doubt
        assert not is_refused
        return ()


class MemberRun:
    """One run: its part in the gang, and what it has told."""

    def __init__(self, network: Network, task: Task, beacon: Beacon) -> None:
        self.beacon, self.loads, self.link = beacon, Loads(), Link(network, task)
        self.told: list[Occurrence] = []
        plan = SimpleNamespace(
            attempt=1,
            is_served=lambda _: False,
            history=SimpleNamespace(gangs={}, doubt=""),
            request=SimpleNamespace(settings=SimpleNamespace(force=False), launcher_pid=0),
        )
        self.resources: Any = SimpleNamespace(
            plan=plan,
            run=SimpleNamespace(cluster=self.link),
            beacon=beacon,
            attempt_state=AttemptState(),
            catalog=SimpleNamespace(entries=tuple),
            lifecycle=SimpleNamespace(state=State.ENDING, is_calm=False),
        )
        loads: Any = self.loads
        self.part = GangPart(cast(Any, self.resources), loads)
        self.perform(self.part.role_asked(RoleAsked(RoleTaken(REPLICA, 1, str(task)), CLUSTER)))

    def perform(self, occurrences: Iterable[Occurrence]) -> None:
        for each in occurrences:
            self.told.append(each)
            event = each.event if isinstance(each, StopAsked) else each
            if isinstance(event, Event):
                state = self.resources.attempt_state
                self.resources.attempt_state = tell(state, event, 0.0)
                self.perform(self.part.recorded(event))

    def kinds(self) -> list[type]:
        return [type(each) for each in self.told]


@pytest.fixture
def runs() -> Iterator[tuple[MemberRun, MemberRun]]:
    network = Network()
    with closing(Beacon.create()) as one, closing(Beacon.create()) as other:
        yield MemberRun(network, W0, one), MemberRun(network, W1, other)


def turn(runs: Iterable[MemberRun], count: int = 6) -> None:
    for _ in range(count):
        for run in runs:
            run.perform(run.part.tick())


def formed(runs: Iterable[MemberRun]) -> None:
    for run in runs:
        run.loads.ready = True
    turn(runs)
    for run in runs:
        assert run.loads.agreed_on == ("", "a-2")
        run.told.clear()


def test_no_trainer_begins_before_all_know_what_they_hold(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    turn(runs)
    runs[0].loads.ready = True
    turn(runs)
    assert [run.loads.agreed_on for run in runs] == [None, None]
    runs[1].loads.ready = True
    turn(runs)
    assert [run.kinds() for run in runs] == [[GangFormed], [GangFormed]]


def test_a_leader_that_is_the_last_to_know_goes_on_at_once(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    """Nothing wakes it for an order that it gives to itself."""
    runs[1].loads.ready = True
    turn(runs)
    runs[0].loads.ready = True
    turn(runs[:1], count=1)
    assert runs[0].loads.agreed_on == ("", "a-2")


def test_the_stop_word_is_raised_when_all_hold(runs: tuple[MemberRun, MemberRun]) -> None:
    formed(runs)
    runs[1].perform(runs[1].part.recorded(StopRequested("signal", "graceful", signal="SIGTERM")))
    runs[1].part.raise_stop()
    turn(runs)
    step = runs[0].beacon.hold_step()
    assert [run.beacon.hold_step() for run in runs] == [step, step]
    assert all(run.part.is_agreeing for run in runs)
    for run in runs:
        assert not run.beacon.stop()
        run.beacon.enter(step + 1)
        run.beacon.hold(step)
        turn(runs)
    assert [run.beacon.stop() for run in runs] == [Stop.GRACEFUL, Stop.GRACEFUL]
    for run in runs:
        [stopped] = [each for each in run.told if isinstance(each, GangStopped)]
        assert stopped.step == step
        assert run.told[-1] is Instruction.ARM_DEADLINE
    [asked] = [each for each in runs[0].told if isinstance(each, StopAsked)]
    assert (asked.event.source, asked.event.reason) == ("cluster", "SIGTERM")


def test_a_stop_that_the_leader_itself_was_asked_for_is_told_with_its_name(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    formed(runs)
    leads = SimpleNamespace(
        gang=SimpleNamespace(tick=lambda *_: None), gone_for_good=lambda **_: ""
    )
    runs[0].link.leads = leads
    runs[0].perform([StopRequested("command", "graceful")])
    runs[0].part.raise_stop()
    turn(runs)
    [asked] = [each for each in runs[1].told if isinstance(each, StopAsked)]
    assert asked.event.reason == "worker 0: command"


def test_a_checkpoint_is_taken_by_all_at_the_step_where_they_hold(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    formed(runs)
    runs[1].part.ask_checkpoint("good")
    turn(runs)
    step = runs[0].beacon.hold_step()
    for run in runs:
        assert run.part.is_agreeing
        assert not run.beacon.checkpoint_requests()
        run.beacon.enter(step + 1)
        run.beacon.hold(step)
        turn(runs)
    for run in runs:
        assert run.beacon.checkpoint_requests() == 1
        assert run.beacon.take_checkpoint_name() == "good"
        assert run.beacon.hold_step() == NEVER
        assert not run.beacon.stop()
        assert run.told == []
        assert not run.part.is_agreeing


def test_a_member_whose_leader_has_completed_stops_alone(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    formed(runs)
    runs[1].link.over_seconds = 0.1
    runs[1].part.raise_stop()
    turn(runs)
    assert [run.beacon.stop() for run in runs] == [Stop.NONE, Stop.GRACEFUL]


def test_a_stop_that_is_asked_for_while_all_wait_to_save(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    formed(runs)
    runs[0].part.ask_checkpoint("")
    turn(runs)
    step = runs[0].beacon.hold_step()
    runs[0].perform(runs[0].part.recorded(StopRequested("signal", "graceful", signal="SIGTERM")))
    runs[0].part.raise_stop()
    turn(runs)
    for run in runs:
        run.beacon.enter(step + 1)
        run.beacon.hold(step)
        turn(runs)
    assert [run.beacon.stop() for run in runs] == [Stop.GRACEFUL, Stop.GRACEFUL]
    assert [run.beacon.checkpoint_requests() for run in runs] == [0, 0]


def test_the_others_are_killed_when_one_is_lost(runs: tuple[MemberRun, MemberRun]) -> None:
    formed(runs)
    runs[1].perform([KILLED])
    turn(runs)
    assert [each.task for each in runs[0].told if isinstance(each, GangBroken)] == ["worker 1"]
    assert runs[0].told[-1] is Trigger.STOP_NOW
    assert GangBroken not in runs[1].kinds()
    assert not runs[1].part.awaits_verdict


def test_one_that_failed_for_it_is_not_the_first(runs: tuple[MemberRun, MemberRun]) -> None:
    formed(runs)
    runs[1].perform([KILLED])
    runs[0].perform([dataclasses.replace(KILLED, exit_code=1, signal="")])
    assert runs[0].part.awaits_verdict
    turn(runs)
    assert not runs[0].part.awaits_verdict
    assert runs[0].resources.attempt_state.broken is not None


@pytest.mark.parametrize(
    ("reason", "doing"), [(WAS_SUSPENDED, "stopped"), ("its supervisor is silent", "step")]
)
def test_a_trainer_that_the_others_have_given_up_is_ended(
    runs: tuple[MemberRun, MemberRun], reason: str, doing: str
) -> None:
    """And the journal says so: nobody outside has killed it."""
    formed(runs)
    runs[1].resources.lifecycle.is_calm = True
    runs[1].beacon.write_position(7, 0, 7, time.monotonic_ns(), 0.5)
    network = runs[0].link.network
    network.deliver(network.leader.lost(W1, reason))
    turn(runs)
    stalled = runs[1].told[-2]
    assert isinstance(stalled, TrainingStalled)
    assert (stalled.step, stalled.doing, stalled.action) == (7, doing, "kill")
    assert 0 <= stalled.seconds < 60
    assert reason in stalled.place
    assert runs[1].told[-1] is Trigger.HUNG
    assert runs[0].resources.attempt_state.broken is not None


def test_an_exception_is_told_before_the_process_has_ended(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    formed(runs)
    runs[1].resources.lifecycle.is_calm = True
    runs[1].perform([ExceptionRaised("builtins.ValueError", "", "", 0, "", "", "train", "")])
    turn(runs)
    assert runs[0].resources.attempt_state.broken.reason == "its script raised ValueError"
    # It still has to write what it holds.
    assert runs[1].told[-1] is not Trigger.HUNG


def test_who_raises_for_a_killed_one_is_not_the_first(runs: tuple[MemberRun, MemberRun]) -> None:
    """TensorFlow is told of a closed connection before the supervisor hears of its child."""
    formed(runs)
    of_tensorflow = "tensorflow.python.framework.errors_impl.UnavailableError"
    runs[1].perform([ExceptionRaised(of_tensorflow, "", "", 0, "", "", "train", "")])
    turn(runs)
    assert runs[0].resources.attempt_state.broken is None
    runs[0].perform([KILLED])
    turn(runs)
    assert [each.task for each in runs[1].told if isinstance(each, GangBroken)] == ["worker 0"]


@pytest.mark.parametrize("error", ["UnavailableError", "InvalidArgumentError"])
def test_members_that_were_suspended_together_have_lost_nobody(
    runs: tuple[MemberRun, MemberRun], error: str
) -> None:
    """TensorFlow takes them for lost when they go on; the same command continues."""
    formed(runs)
    of_tensorflow = f"tensorflow.python.framework.errors_impl.{error}"
    for run in runs:
        run.perform([suspension_notice(9.0)])
        run.perform([ExceptionRaised(of_tensorflow, "", "", 0, "", "", "train", "")])
        run.perform([dataclasses.replace(KILLED, exit_code=1, signal="")])
    turn(runs)
    is_continued = error == "UnavailableError"
    broken = [run.resources.attempt_state.broken is not None for run in runs]
    assert broken == [is_continued, True]


def test_who_has_stopped_in_order_is_not_lost(runs: tuple[MemberRun, MemberRun]) -> None:
    formed(runs)
    state = runs[1].resources.attempt_state
    runs[1].resources.attempt_state = dataclasses.replace(state, trainer_stopped=True)
    runs[1].perform([dataclasses.replace(KILLED, exit_code=75, signal="")])
    turn(runs)
    assert GangBroken not in runs[0].kinds()


def test_the_level_of_one_is_told_to_the_others(runs: tuple[MemberRun, MemberRun]) -> None:
    formed(runs)
    runs[1].perform([LevelKnown("not_exact", "the script sets no seed", [])])
    turn(runs)
    [level] = [each for each in runs[0].told if isinstance(each, LevelKnown)]
    assert level.reason == "of another member, worker 1: the script sets no seed"
    assert runs[1].kinds() == [LevelKnown]


def test_a_worker_of_a_cluster_of_one_waits_for_nobody() -> None:
    with closing(Beacon.create()) as beacon:
        run = MemberRun(Network(), W0, beacon)
        run.part = GangPart(run.resources, run.loads)  # type: ignore[arg-type]
        role = RoleAsked(RoleTaken(REPLICA, 1, "worker 0"), {"worker": ["a:1"]})
        assert list(run.part.role_asked(role)) == []


def test_a_member_without_a_cluster_is_told_that_it_is_saved_by_itself() -> None:
    with closing(Beacon.create()) as beacon:
        run = MemberRun(Network(), W0, beacon)
        run.link.part = None
        run.part = GangPart(run.resources, run.loads)  # type: ignore[arg-type]
        [notice] = run.part.role_asked(RoleAsked(RoleTaken(REPLICA, 1, "worker 0"), CLUSTER))
        assert isinstance(notice, Notice)
        assert notice.code == "no_gang"


def test_who_waits_says_for_whom(
    runs: tuple[MemberRun, MemberRun], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pitstop.supervisor.attempt.gang._TOLD_SECONDS", 0.0)
    turn(runs[:1])
    [notice] = [each for each in runs[0].told if isinstance(each, Notice)]
    assert "Waiting up to 60 s for worker 1:" in notice.message


def test_one_of_several_workers_of_a_script_waits_for_nobody(
    runs: tuple[MemberRun, MemberRun],
) -> None:
    assert (
        list(runs[0].part.role_asked(RoleAsked(RoleTaken(REPLICA, 2, "worker 1"), CLUSTER))) == []
    )
    turn(runs[:1])
    [notice] = [each for each in runs[0].told if isinstance(each, Notice)]
    assert "nothing is saved" in notice.message
    assert runs[0].loads.doubt in notice.message
    assert runs[0].loads.alone
