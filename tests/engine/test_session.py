"""The trainer's end of a run, with a supervisor played by the test."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.copier import LARGE_BYTES
from pitstop.engine.identity import RestorePoint
from pitstop.engine.leaving import TrainingStopped
from pitstop.engine.session import Session
from pitstop.engine.state_capture import StateCapture
from pitstop.errors import PeerClosed, PeerFault, ProtocolMismatch
from pitstop.events import (
    CheckpointFailed,
    Event,
    InstrumentationUnavailable,
    Notice,
    StopRequested,
    TrainerConnected,
    TrainerStopped,
    from_record,
)
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.link.beacon import Beacon, Phase, Stop
from pitstop.link.messages import ImageAnswer, Message, NoImage, Refusal, Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, Connection, Received, pair
from pitstop.snapshot.arena import newest_slot
from tests.engine.samples import cut, position
from tests.engine.test_saved_state import image_of
from tests.messages import body_of, welcome

POINT = RestorePoint("step-00000009", 9, 0, "", is_loop=True)
VERSIONS = {"keras": "3.15.0"}


class Supervisor:
    """The other end of one session."""

    def __init__(self, run_dir: Path, settings: Settings) -> None:
        self.beacon = Beacon.create()
        self.run_dir = run_dir
        self.settings = settings
        self.connection, self.trainer = pair()
        self.session = Session(self.trainer, self.beacon, self.welcome())

    def welcome(self) -> Welcome:
        info = {"step": POINT.step, "fit": POINT.fit, "milestone": POINT.milestone}
        points = [{"checkpoint": POINT.checkpoint, "info": info}]
        return welcome(self.run_dir, self.settings, lost_from_step=11, points=points)

    def told(self, count: int) -> list[Received]:
        return [self.connection.receive() for _ in range(count)]

    def event(self) -> Event:
        (message,) = self.told(1)
        assert message.message.type == "event_report", message
        return from_record(body_of(message)["event"])


MakeSupervisor = Callable[..., Supervisor]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[MakeSupervisor]:
    made: list[Supervisor] = []

    def make_one(run_dir: Path = tmp_path, **settings: Any) -> Supervisor:
        made.append(Supervisor(run_dir, Settings(**settings)))
        return made[-1]

    yield make_one
    for supervisor in made:
        supervisor.connection.close()
        supervisor.trainer.close()
        os.close(supervisor.beacon.fd)


def never() -> StateCapture:
    raise AssertionError("no cut was to be taken")


# -- the beginning ---------------------------------------------------------------


def answering(folder: Path, answer: Message, received: list[Received]) -> str:
    """A supervisor that listens, answers one hello, and hears the next message."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(folder / "socket"))
    listener.listen()
    beacon = Beacon.create()

    def serve() -> None:
        connection = Connection(listener.accept()[0])
        received.append(connection.receive())
        welcomes = isinstance(answer, Welcome)
        connection.send(answer, [beacon.fd] if welcomes else [])
        if welcomes:
            received.append(connection.receive())
        connection.close()
        listener.close()

    threading.Thread(target=serve, daemon=True).start()
    return str(folder / "socket")


def test_opening_introduces_the_process(tmp_path: Path, make: MakeSupervisor) -> None:
    received: list[Received] = []
    session = Session.open(answering(tmp_path, make(every_steps=5).welcome(), received), VERSIONS)
    assert session.trainings.point_for(POINT.fit) == POINT
    assert session.lost_from_step == 11
    assert session.settings.every_steps == 5
    with pytest.raises(PeerClosed):
        session.fetch(POINT)
    session.report(Notice("never", "arrives"))
    hello, connected = received
    assert (hello.message.type, body_of(hello)["protocol"], body_of(hello)["pid"]) == (
        "hello",
        PROTOCOL,
        os.getpid(),
    )
    event = from_record(body_of(connected)["event"])
    assert isinstance(event, TrainerConnected)
    assert (event.pid, event.versions) == (os.getpid(), VERSIONS)


def test_a_refused_process_is_told_why(tmp_path: Path) -> None:
    path = answering(tmp_path, Refusal("process 7 trains in this run"), [])
    with pytest.raises(ProtocolMismatch, match="process 7 trains"):
        Session.open(path, VERSIONS)


def test_without_a_supervisor_there_is_no_session(tmp_path: Path) -> None:
    with pytest.raises(PeerClosed):
        Session.open(str(tmp_path / "socket"), VERSIONS)


# -- restoring -------------------------------------------------------------------


def test_a_restore_point_is_fetched(make: MakeSupervisor) -> None:
    supervisor = make()
    fds = image_of(9)
    supervisor.connection.send(ImageAnswer(checkpoint=POINT.checkpoint), fds)
    for fd in fds:
        os.close(fd)
    assert supervisor.session.fetch(POINT).position.step == 9
    (asked,) = supervisor.told(1)
    assert (asked.message.type, body_of(asked)) == (
        "restore_request",
        {"checkpoint": POINT.checkpoint},
    )


def test_a_restore_point_that_is_gone(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.connection.send(NoImage(checkpoint="c", reason="it is damaged"))
    with pytest.raises(PeerFault, match="it is damaged"):
        supervisor.session.fetch(POINT)
    assert supervisor.told(1)[0].message.type == "restore_request"
    told = supervisor.event()
    assert isinstance(told, Notice)
    assert (told.code, told.message) == (
        "resume_refused",
        f"Checkpoint {POINT.checkpoint}: it is damaged.",
    )


# -- the step boundary -----------------------------------------------------------


def test_a_quiet_boundary_has_nothing_to_do(make: MakeSupervisor) -> None:
    session = make().session
    session.start_steps(0)
    assert not session.due(0, time.monotonic_ns())


def test_the_first_snapshot_follows_the_first_step(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.start_steps(0)
    assert session.due(1, time.monotonic_ns())
    session.act(1, lambda: cut(1))
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
    session.start_steps(0)
    large = memoryview(bytes(LARGE_BYTES))
    assert not session.act(1, lambda: cut(1, LARGE_BYTES, lambda: large))
    (arena,) = supervisor.told(1)
    assert arena.message.type == "arena_offer"
    # The arena is announced while its thread ends.
    while not session.act(2, lambda: cut(2, LARGE_BYTES, lambda: large)):
        time.sleep(0.001)
    found = newest_slot(arena.fds[0])
    assert found is not None
    assert found[1].step == 2
    os.close(arena.fds[0])


def test_a_requested_checkpoint_is_taken_once(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.start_steps(0)
    supervisor.beacon.request_checkpoint()
    now_ns = time.monotonic_ns()
    assert session.due(3, now_ns)
    session.act(3, lambda: cut(3))
    _, snapshot = supervisor.told(2)
    assert (body_of(snapshot)["reason"], body_of(snapshot)["durable"]) == ("requested", True)
    assert not session.due(4, now_ns)


def test_who_asks_for_a_checkpoint_that_cannot_be_taken_is_told(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.start_steps(0)
    supervisor.beacon.write_position(3, 0, 3, 1, 0.5)
    supervisor.beacon.request_checkpoint("mine")
    assert not session.act(3, lambda: None)
    failed = supervisor.event()
    assert isinstance(failed, CheckpointFailed)
    assert (failed.step, failed.error) == (3, "No snapshot can be taken of this training.")
    assert not session.due(4, 0)
    assert supervisor.beacon.take_checkpoint_name() == ""


def test_a_request_to_an_earlier_process_is_not_answered_again(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.beacon.request_checkpoint()
    assert supervisor.session.due(1, 0)
    later = Session(supervisor.trainer, supervisor.beacon, supervisor.welcome())
    assert not later.due(1, 0)


def test_fixed_steps_are_durable(make: MakeSupervisor) -> None:
    supervisor = make(every_steps=4)
    session = supervisor.session
    session.start_steps(0)
    session.act(1, lambda: cut(1))
    assert not body_of(supervisor.told(2)[1])["durable"]
    assert not session.due(3, 0)
    assert session.due(4, 0)
    session.act(4, lambda: cut(4))
    (snapshot,) = supervisor.told(1)
    assert body_of(snapshot)["durable"]
    assert not session.due(5, 0)


def test_a_snapshot_of_the_budget_does_not_wait_for_the_one_before(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.start_steps(0)
    gate = threading.Event()

    def read() -> memoryview:
        gate.wait()
        return memoryview(bytes(1000))

    session.act(1, lambda: cut(1, read=read))
    session.act(2, never)
    gate.set()
    assert body_of(supervisor.told(2)[1])["step"] == 1


def test_a_run_ends_where_it_is_set(make: MakeSupervisor) -> None:
    supervisor = make(halt_at_step=7)
    session = supervisor.session
    session.start_steps(0)
    session.act(1, lambda: None)
    assert not session.due(6, 0)
    assert session.due(7, 0)
    with pytest.raises(TrainingStopped):
        session.act(7, lambda: cut(7))
    assert supervisor.event() == StopRequested(source="setting", urgency="graceful")
    assert body_of(supervisor.told(2)[1])["step"] == 7


# -- stopping --------------------------------------------------------------------


@pytest.mark.parametrize("stop", [Stop.GRACEFUL, Stop.NOW])
def test_a_stop_saves_and_leaves(make: MakeSupervisor, stop: Stop) -> None:
    supervisor = make()
    session = supervisor.session
    session.start_steps(0)
    supervisor.beacon.request_stop(stop)
    assert session.stop_requested()
    assert session.due(5, 0)
    with pytest.raises(TrainingStopped) as caught:
        session.act(5, lambda: cut(5))
    assert caught.value.code == EXIT_STOPPED == 75
    _, snapshot = supervisor.told(2)
    assert (body_of(snapshot)["reason"], body_of(snapshot)["step"]) == ("stop", 5)
    assert supervisor.event() == TrainerStopped(5, 1, 5, "train")
    assert supervisor.beacon.phase() is Phase.SAVING


def test_the_script_stops_itself_at_the_next_boundary(make: MakeSupervisor) -> None:
    supervisor = make()
    session = supervisor.session
    session.start_steps(0)
    supervisor.beacon.request_stop(Stop.GRACEFUL)
    assert session.due(5, 0)
    with pytest.raises(TrainingStopped):
        session.act(5, lambda: cut(5))


def test_a_stop_outside_of_training_tells_the_last_position(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.beacon.write_position(40, 3, 10, 1, 0.5)
    with pytest.raises(TrainingStopped):
        supervisor.session.stop_with(None, "predict")
    assert supervisor.event() == TrainerStopped(40, 3, 10, "predict")


def test_a_stop_of_a_resume_tells_the_position_that_it_goes_on_from(make: MakeSupervisor) -> None:
    supervisor = make()
    with pytest.raises(TrainingStopped):
        supervisor.session.stop_with(None, "restoring", position(30))
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
    waiting = threading.Thread(target=supervisor.session.milestone, args=(lambda: cut(9),))
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
    stopped.session.milestone(lambda: cut(9))
    orphan.connection.close()
    orphan.session.milestone(lambda: cut(9))
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
    supervisor.session.start_steps(0)
    supervisor.beacon.request_checkpoint()
    supervisor.session.act(1, lambda: cut(1))
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
    supervisor.session.start_steps(0)
    supervisor.beacon.request_checkpoint()
    supervisor.beacon.write_position(1, 0, 1, 1, 0.5)
    supervisor.session.act(1, lambda: cut(1))
    failed = supervisor.event()
    # Whoever asked for this checkpoint waits for the event that it failed.
    assert isinstance(failed, CheckpointFailed)
    assert failed.step == 1
    assert "No such file or directory" in failed.error


def test_an_error_of_ours_ends_snapshots_and_not_training(make: MakeSupervisor) -> None:
    supervisor = make(every_steps=1)
    supervisor.session.start_steps(0)
    supervisor.session.give_up_snapshots(AttributeError("gone"))
    told = supervisor.event()
    assert isinstance(told, InstrumentationUnavailable)
    assert "AttributeError('gone')" in told.reason
    assert not supervisor.session.act(1, never)


def test_a_copy_that_breaks_ends_snapshots_and_not_training(make: MakeSupervisor) -> None:
    def read() -> memoryview:
        raise RuntimeError("no value")

    supervisor = make(every_steps=1)
    supervisor.session.start_steps(0)
    supervisor.session.milestone(lambda: cut(1, read=read))
    assert supervisor.told(1)[0].message.type == "arena_offer"
    failed, told = supervisor.event(), supervisor.event()
    assert isinstance(failed, CheckpointFailed)
    assert "RuntimeError('no value')" in failed.error
    assert isinstance(told, InstrumentationUnavailable)
    assert not supervisor.session.act(1, never)


def test_a_stop_without_snapshots_leaves_all_the_same(make: MakeSupervisor) -> None:
    supervisor = make()
    supervisor.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        supervisor.session.act(1, lambda: None)
    assert isinstance(supervisor.event(), TrainerStopped)


def test_behind_a_stop_nothing_is_saved_and_everything_that_trains_stops(
    make: MakeSupervisor,
) -> None:
    supervisor = make(halt_at_step=4)
    session = supervisor.session
    session.start_steps(0)
    with pytest.raises(TrainingStopped):
        session.act(4, lambda: cut(4))
    assert [each.message.type for each in supervisor.told(4)] == [
        *("event_report", "arena_offer"),
        *("snapshot_report", "event_report"),
    ]
    assert session.stopped
    # Only the setting knew of it until now.
    assert session.due(0, 0)
    session.milestone(lambda: cut(9))
    with pytest.raises(TrainingStopped):
        session.stop_with(cut(9), "train")
    session.report(Notice("told", "the next that is told"))
    assert supervisor.event() == Notice("told", "the next that is told")
