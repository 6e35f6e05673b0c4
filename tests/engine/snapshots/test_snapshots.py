"""What is saved, and when; the supervisor is played by the test."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from pitstop.engine.leaving import TrainingStopped
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.copier import LARGE_BYTES
from pitstop.errors import PeerClosed
from pitstop.events import (
    CheckpointFailed,
    InstrumentationUnavailable,
    Notice,
    StopRequested,
    TrainerStopped,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.link.beacon import Phase, Stop
from pitstop.snapshot.arena import newest_slot
from tests.engine.played_supervisor import POINT, MakeSupervisor, make, never
from tests.engine.samples import cut, position
from tests.messages import body_of

__all__ = ["make"]

# -- the step boundary -----------------------------------------------------------


def test_a_quiet_boundary_has_nothing_to_do(make: MakeSupervisor) -> None:
    session = make().session
    session.snapshots.start_steps(0)
    assert not session.snapshots.due(0, time.monotonic_ns())


def test_the_first_snapshot_follows_the_first_step(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    assert session.snapshots.due(1, time.monotonic_ns())
    session.snapshots.act(1, lambda: cut(1))
    arena, snapshot = supervisor.told(2)
    assert (arena.message.type, body_of(arena)["backing"]) == ("arena_offer", "memory")
    found = newest_slot(arena.fds[0])
    assert found is not None
    assert found[1].sequence == body_of(snapshot)["sequence"]
    assert (body_of(snapshot)["step"], body_of(snapshot)["reason"]) == (1, "cadence")
    assert not body_of(snapshot)["durable"]
    os.close(arena.fds[0])


def test_a_large_state_is_copied_before_the_next_step(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    large = memoryview(bytes(LARGE_BYTES))
    assert not session.snapshots.act(1, lambda: cut(1, LARGE_BYTES, lambda: large))
    (arena,) = supervisor.told(1)
    assert arena.message.type == "arena_offer"
    # The arena is announced while its thread ends.
    while not session.snapshots.act(2, lambda: cut(2, LARGE_BYTES, lambda: large)):
        time.sleep(0.001)
    found = newest_slot(arena.fds[0])
    assert found is not None
    assert found[1].step == 2
    os.close(arena.fds[0])


def test_a_snapshot_is_not_put_off_by_what_else_has_slowed_the_steps(make: MakeSupervisor) -> None:
    supervisor = make()
    snapshots = supervisor.session.snapshots
    snapshots.start_steps(0)
    large = memoryview(bytes(LARGE_BYTES))
    while not snapshots.act(1, lambda: cut(1, LARGE_BYTES, lambda: large)):
        time.sleep(0.001)
    for _ in range(2):
        snapshots.cost_measured(600.0)
    # Ten minutes at 1 % would come back after a day.
    assert snapshots.due(2, time.monotonic_ns() + 3600 * 1_000_000_000)
    os.close(supervisor.told(1)[0].fds[0])


def test_a_requested_checkpoint_is_taken_once(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    supervisor.beacon.request_checkpoint()
    now_ns = time.monotonic_ns()
    assert session.snapshots.due(3, now_ns)
    session.snapshots.act(3, lambda: cut(3))
    _, snapshot = supervisor.told(2)
    assert (body_of(snapshot)["reason"], body_of(snapshot)["durable"]) == ("requested", True)
    assert not session.snapshots.due(4, now_ns)


def test_who_asks_for_a_checkpoint_that_cannot_be_taken_is_told(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    supervisor.beacon.write_position(3, 0, 3, 1, 0.5)
    supervisor.beacon.request_checkpoint("mine")
    assert not session.snapshots.act(3, lambda: None)
    failed = supervisor.event()
    assert isinstance(failed, CheckpointFailed)
    assert (failed.step, failed.error) == (3, "This training cannot be saved.")
    assert not session.snapshots.due(4, 0)
    assert supervisor.beacon.take_checkpoint_name() == ""


def test_a_request_to_an_earlier_process_is_not_answered_again(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.beacon.request_checkpoint()
    assert supervisor.session.snapshots.due(1, 0)
    later = Session(supervisor.trainer, supervisor.beacon, supervisor.welcome())
    assert not later.snapshots.due(1, 0)


def test_fixed_steps_are_durable(make: MakeSupervisor) -> None:
    supervisor = make(every_steps=4)
    session = supervisor.session
    session.snapshots.start_steps(0)
    session.snapshots.act(1, lambda: cut(1))
    assert not body_of(supervisor.told(2)[1])["durable"]
    assert not session.snapshots.due(3, 0)
    assert session.snapshots.due(4, 0)
    session.snapshots.act(4, lambda: cut(4))
    (snapshot,) = supervisor.told(1)
    assert body_of(snapshot)["durable"]
    assert not session.snapshots.due(5, 0)


def test_a_snapshot_of_the_budget_does_not_wait_for_the_one_before(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    gate = threading.Event()

    def read() -> memoryview:
        gate.wait()
        return memoryview(bytes(1000))

    session.snapshots.act(1, lambda: cut(1, read=read))
    session.snapshots.act(2, never)
    gate.set()
    assert body_of(supervisor.told(2)[1])["step"] == 1


def test_a_run_ends_where_it_is_set(make: MakeSupervisor) -> None:
    supervisor = make(halt_at_step=7)
    session = supervisor.session
    session.snapshots.start_steps(0)
    session.snapshots.act(1, lambda: None)
    assert not session.snapshots.due(6, 0)
    assert session.snapshots.due(7, 0)
    with pytest.raises(TrainingStopped):
        session.snapshots.act(7, lambda: cut(7))
    assert supervisor.event() == StopRequested(source="setting", urgency="graceful")
    assert body_of(supervisor.told(2)[1])["step"] == 7


# -- stopping --------------------------------------------------------------------


@pytest.mark.parametrize("stop", [Stop.GRACEFUL, Stop.NOW])
def test_a_stop_saves_and_leaves(make: MakeSupervisor, stop: Stop) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    supervisor.beacon.request_stop(stop)
    assert session.stop_requested()
    assert session.snapshots.due(5, 0)
    with pytest.raises(TrainingStopped) as caught:
        session.snapshots.act(5, lambda: cut(5))
    assert caught.value.code == EXIT_STOPPED == 75
    _, snapshot = supervisor.told(2)
    assert (body_of(snapshot)["reason"], body_of(snapshot)["step"]) == ("stop", 5)
    assert supervisor.event() == TrainerStopped(5, 1, 5, "train")
    assert supervisor.beacon.phase() is Phase.SAVING


def test_the_script_stops_itself_at_the_next_boundary(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.snapshots.start_steps(0)
    supervisor.beacon.request_stop(Stop.GRACEFUL)
    assert session.snapshots.due(5, 0)
    with pytest.raises(TrainingStopped):
        session.snapshots.act(5, lambda: cut(5))


def test_a_stop_outside_of_training_tells_the_last_position(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.beacon.write_position(40, 3, 10, 1, 0.5)
    with pytest.raises(TrainingStopped):
        supervisor.session.snapshots.stop_with(None, "predict")
    assert supervisor.event() == TrainerStopped(40, 3, 10, "predict")


def test_a_stop_of_a_resume_tells_the_position_that_it_goes_on_from(make: MakeSupervisor) -> None:
    supervisor = make()
    with pytest.raises(TrainingStopped):
        supervisor.session.snapshots.stop_with(None, "restoring", position(30))
    at = position(30)
    expected = TrainerStopped(at.step, at.epoch, at.step_in_epoch, "restoring")
    assert supervisor.event() == expected


def test_leaving_runs_finally_blocks_but_no_handlers() -> None:
    seen = []

    def script() -> None:
        try:
            raise TrainingStopped
        except Exception:  # noqa: BLE001 - what a script might have
            seen.append("handler")
        finally:
            seen.append("finally")

    with pytest.raises(SystemExit):
        script()
    assert seen == ["finally"]


# -- milestones ------------------------------------------------------------------


def test_a_milestone_waits_until_it_is_durable(make: MakeSupervisor) -> None:
    supervisor = make()
    waiting = threading.Thread(
        target=supervisor.session.snapshots.milestone, args=(lambda: cut(9),)
    )
    waiting.start()
    _, snapshot = supervisor.told(2)
    assert (body_of(snapshot)["reason"], body_of(snapshot)["durable"]) == ("fit_end", True)
    supervisor.beacon.settle(body_of(snapshot)["sequence"] - 1)
    assert waiting.is_alive()
    supervisor.beacon.settle(body_of(snapshot)["sequence"])
    waiting.join(timeout=30)
    assert not waiting.is_alive()


def test_a_milestone_does_not_hold_up_a_stop_or_an_orphan(make: MakeSupervisor) -> None:
    stopped, orphan = make(), make()
    stopped.beacon.request_stop(Stop.GRACEFUL)
    stopped.session.snapshots.milestone(lambda: cut(9))
    orphan.connection.close()
    orphan.session.snapshots.milestone(lambda: cut(9))
    assert orphan.beacon.progress().snapshot_step == 9


# -- trouble ---------------------------------------------------------------------


def test_a_lost_supervisor_is_no_error(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.connection.close()
    supervisor.session.report(Notice("a", "b"))
    supervisor.session.report(Notice("a", "b"))
    with pytest.raises(PeerClosed):
        supervisor.session.fetch(POINT)


def test_too_little_memory_is_told(make: MakeSupervisor) -> None:
    supervisor = make(snapshot_memory_bytes=1)
    supervisor.session.snapshots.start_steps(0)
    supervisor.beacon.request_checkpoint()
    supervisor.session.snapshots.act(1, lambda: cut(1))
    (arena,) = supervisor.told(1)
    assert body_of(arena)["backing"] == "file"
    notice = supervisor.event()
    assert isinstance(notice, Notice)
    assert notice.code == "snapshot_memory_short"
    assert "--snapshot-memory" in notice.remedy


def test_a_snapshot_that_fails_is_told_and_training_goes_on(
    make: MakeSupervisor, tmp_path: Path
) -> None:
    supervisor = make(run_dir=tmp_path / "gone", snapshot_memory_bytes=1)
    supervisor.session.snapshots.start_steps(0)
    supervisor.beacon.request_checkpoint()
    supervisor.beacon.write_position(1, 0, 1, 1, 0.5)
    supervisor.session.snapshots.act(1, lambda: cut(1))
    failed = supervisor.event()
    # Whoever asked for this checkpoint waits for the event that it failed.
    assert isinstance(failed, CheckpointFailed)
    assert failed.step == 1
    assert "No such file or directory" in failed.error


def test_an_error_of_ours_ends_snapshots_and_not_training(make: MakeSupervisor) -> None:
    supervisor = make(every_steps=1)
    supervisor.session.snapshots.start_steps(0)
    supervisor.session.snapshots.give_up(AttributeError("gone"))
    told = supervisor.event()
    assert isinstance(told, InstrumentationUnavailable)
    assert "AttributeError('gone')" in told.reason
    assert not supervisor.session.snapshots.act(1, never)


def test_a_copy_that_breaks_ends_snapshots_and_not_training(make: MakeSupervisor) -> None:
    def read() -> memoryview:
        raise RuntimeError("no value")

    supervisor = make(every_steps=1)
    supervisor.session.snapshots.start_steps(0)
    supervisor.session.snapshots.milestone(lambda: cut(1, read=read))
    assert supervisor.told(1)[0].message.type == "arena_offer"
    failed, told = supervisor.event(), supervisor.event()
    assert isinstance(failed, CheckpointFailed)
    assert "RuntimeError('no value')" in failed.error
    assert isinstance(told, InstrumentationUnavailable)
    assert not supervisor.session.snapshots.act(1, never)


def test_a_stop_without_snapshots_leaves_all_the_same(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        supervisor.session.snapshots.act(1, lambda: None)
    assert isinstance(supervisor.event(), TrainerStopped)


def test_behind_a_stop_nothing_is_saved_and_everything_that_trains_stops(
    make: MakeSupervisor,
) -> None:
    supervisor = make(halt_at_step=4)
    session = supervisor.session
    session.snapshots.start_steps(0)
    with pytest.raises(TrainingStopped):
        session.snapshots.act(4, lambda: cut(4))
    assert [each.message.type for each in supervisor.told(4)] == [
        *("event_report", "arena_offer"),
        *("snapshot_report", "event_report"),
    ]
    assert session.snapshots.stopped
    # Only the setting knew of it until now.
    assert session.snapshots.due(0, 0)
    session.snapshots.milestone(lambda: cut(9))
    with pytest.raises(TrainingStopped):
        session.snapshots.stop_with(cut(9), "train")
    session.report(Notice("told", "the next that is told"))
    assert supervisor.event() == Notice("told", "the next that is told")
