"""The boundary between two steps: what it publishes, what it costs, what it obeys."""

from __future__ import annotations

import time

import pytest

from pitstop.engine.leaving import TrainingStopped
from pitstop.engine.session.step_boundary import StepBoundary
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.events import TrainerStopped
from pitstop.link.beacon import Stop
from tests.engine.played_supervisor import MakeSupervisor, make, never
from tests.engine.samples import cut
from tests.messages import body_of

__all__ = ["make"]


def test_a_boundary_where_nothing_is_due_only_tells_where_the_training_is(
    make: MakeSupervisor,
) -> None:
    supervisor = make(every_seconds=3600.0)
    boundary = StepBoundary(supervisor.session)
    boundary.start()
    supervisor.session.snapshots.start_steps(7)
    now_ns = time.monotonic_ns()
    boundary.reach(7, 1, 3, 0.25, now_ns)
    boundary.obey(7, never)
    reached = supervisor.beacon.progress()
    assert (reached.step, reached.epoch, reached.step_in_epoch, reached.loss) == (7, 1, 3, 0.25)
    assert boundary.passed_ns == now_ns


def test_the_time_of_a_step_is_from_boundary_to_boundary(make: MakeSupervisor) -> None:
    supervisor = make()
    boundary = StepBoundary(supervisor.session)
    boundary.reach(1, 0, 1, 0.5, 10_000_000)
    boundary.measure(13_000_000)
    assert supervisor.beacon.progress().step_seconds == pytest.approx(0.003)


def test_what_a_snapshot_cost_is_told_when_the_steps_behind_it_have_ended(
    make: MakeSupervisor,
) -> None:
    costs: list[float] = []
    supervisor = make(every_steps=100)
    boundary = StepBoundary(supervisor.session)
    boundary.on_cost = costs.append
    boundary.reach(99, 0, 99, 0.5, 0)
    boundary.measure(1_000_000)
    boundary.reach(100, 0, 100, 0.5, 1_000_000)
    supervisor.session.snapshots.start_steps(0)
    boundary.obey(100, lambda: cut(100))
    for at_ns in (5_000_000, 6_000_000):
        assert not costs
        boundary.measure(at_ns)
        boundary.reach(101, 0, 101, 0.5, at_ns)
    assert costs == [pytest.approx(0.003)]


def test_a_stop_is_obeyed_with_the_state_of_the_boundary(make: MakeSupervisor) -> None:
    supervisor = make()
    boundary = StepBoundary(supervisor.session)
    boundary.start()
    boundary.reach(4, 0, 4, 0.5, time.monotonic_ns())
    supervisor.beacon.request_stop(Stop.GRACEFUL)
    taken: list[StateCapture] = []

    def take() -> StateCapture:
        taken.append(cut(4))
        return taken[-1]

    with pytest.raises(TrainingStopped):
        boundary.obey(4, take)
    assert len(taken) == 1
    events = [supervisor.told(1)[0] for _ in range(3)]
    assert [each.message.type for each in events] == [
        "arena_offer",
        "snapshot_report",
        "event_report",
    ]
    assert body_of(events[-1])["event"]["kind"] == TrainerStopped.kind
