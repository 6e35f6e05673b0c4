"""A leader whose member is gone, and a member whose process is suspended: who ends what."""

from __future__ import annotations

import math
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pitstop.cluster.leading import LeaderReply, MemberRequest
from pitstop.cluster.messages import CheckpointReply, CheckpointRequest
from pitstop.cluster.spec import Task
from pitstop.events import (
    WAITS_FOR_OTHERS,
    Event,
    ExceptionRaised,
    ExitCalled,
    FitStarted,
    JsonValue,
    MemberEnded,
    MemberJoined,
    MemberReleased,
    Notice,
    RoleTaken,
    ScriptEnded,
    StopRequested,
    TrainerStopped,
    TrainingStalled,
)
from pitstop.link.beacon import Beacon, Phase
from pitstop.link.messages import CheckpointAnswer, Message, Refusal
from pitstop.machine.own_process import is_suspended
from pitstop.supervisor.attempt import membership
from pitstop.supervisor.attempt.command import EndVerdict, decide
from pitstop.supervisor.attempt.membership import Membership
from pitstop.supervisor.control.requests import LeaderRequest, RequestDesk
from pitstop.supervisor.lifecycle.occurrences import CheckpointAsked, Occurrence, StopAsked
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.records.attempt_state import AttemptState, tell
from tests.integration.supervisor import launch

WORKER = Task("worker", 0)
GONE = 2**22 + 1  # above the largest process id


class Told:
    """Stands for the network: keeps what is sent."""

    def __init__(self) -> None:
        self.sent: list[tuple[Task, Message]] = []

    def send(self, task: Task, message: Message) -> None:
        self.sent.append((task, message))


class Client:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[Message] = []

    def tell(self, message: Message) -> None:
        self.told.append(message)


class Run:
    """One run of a cluster, and what its link says next."""

    def __init__(self, beacon: Beacon, role: RoleTaken | None) -> None:
        self.said: list[Event] = []
        self.asked: list[Any] = []
        self.tasks: dict[int, str] = {}
        self.trainer_pid, self.watched_pid = 7, 0
        self.cluster: Any = SimpleNamespace(
            part="there",
            follows=None,
            is_awaited=False,
            lease_seconds=0.0,
            tick=self._take,
            handed_on=self._take_asked,
            has_workers=True,
            leader="chief 0",
            over_seconds=-math.inf,
            linger_seconds=2.0,
            unreached_seconds=0.0,
        )
        self.resources: Any = SimpleNamespace(
            run=SimpleNamespace(cluster=self.cluster),
            beacon=beacon,
            attempt_state=tell(AttemptState(), role, 0.0) if role else AttemptState(),
            lifecycle=SimpleNamespace(state=State.RUNNING, is_calm=True, is_live=True),
        )

    def _take(self, _beat: Any) -> list[Event]:
        said, self.said = self.said, []
        return said

    def _take_asked(self) -> list[Any]:
        asked, self.asked = self.asked, []
        return asked

    def part(self, *, launched: bool, desk: Any = None) -> Membership:
        tasks, left = self.tasks, SimpleNamespace(left_at=None, pid=self.trainer_pid)
        nobody: Any = SimpleNamespace(
            awaits_release=lambda _: False, watched_pid=self.watched_pid, tasks=tasks, slot=left
        )
        self.resources.plan = SimpleNamespace(request=SimpleNamespace(launcher_pid=int(launched)))
        return Membership(self.resources, desk or nobody, nobody)


@pytest.fixture
def chief(monkeypatch: pytest.MonkeyPatch) -> Iterator[Run]:
    """A coordinator that waits for its workers, and has no patience."""
    monkeypatch.setattr(membership, "_WITHOUT_SECONDS", 0.0)
    monkeypatch.setattr(membership, "_BACK_SECONDS", 0.0)
    with closing(Beacon.create()) as beacon:
        beacon.write_phase(Phase.WAITING)
        yield Run(beacon, RoleTaken("coordinator", 1, "chief 0"))


def ended(part: Membership) -> list[Occurrence]:
    return [each for each in part.tick() if not isinstance(each, MemberEnded | MemberJoined)]


@pytest.mark.parametrize("launched", [True, False])
def test_a_chief_that_waits_for_a_lost_worker_is_ended(chief: Run, *, launched: bool) -> None:
    part = chief.part(launched=launched)
    chief.said = [MemberEnded("worker 1", "host", "lost")]
    notice, *rest = ended(part)
    assert isinstance(notice, Notice)
    assert "worker 1 is gone" in notice.message
    if launched:
        reason = "worker 1 is gone and the training cannot continue"
        assert rest == [StopAsked(StopRequested("cluster", "now", reason=reason))]
    else:
        assert rest == [Trigger.HUNG]


@pytest.mark.parametrize(
    ("before", "fails"),
    [
        ([], False),
        ([ExceptionRaised("E", "", "", 0, "", "", "", "")], True),
        ([ExitCalled("sys.exit", "0", "", 0, "")], False),
        ([ExitCalled("sys.exit", "3", "", 0, "")], True),
    ],
)
def test_a_chief_whose_script_has_ended_has_not_failed(
    chief: Run, before: list[Event], *, fails: bool
) -> None:
    """TensorFlow waits for a lost server when its process ends."""
    for event in (*before, ScriptEnded(9)):
        chief.resources.attempt_state = tell(chief.resources.attempt_state, event, 0.0)
    chief.said = [MemberEnded("ps 1", "host", "failed", 137)]
    notice, trigger = ended(chief.part(launched=True))
    assert isinstance(notice, Notice)
    state = tell(chief.resources.attempt_state, notice, 0.0)
    assert (trigger, state.cut_short) == (Trigger.HUNG, not fails)
    assert decide(state, signal.SIGKILL).exit_code == (137 if fails else 0)


@pytest.mark.parametrize(
    "said",
    [
        [MemberEnded("worker 1", "host", "completed", 0)],
        [MemberEnded("worker 1", "host", "lost"), MemberJoined("worker 1", "host", 7)],
    ],
)
def test_a_worker_that_is_back_or_done_is_not_waited_for(chief: Run, said: list[Event]) -> None:
    chief.said = said
    assert ended(chief.part(launched=True)) == []


def test_a_leader_saves_what_a_member_was_asked_for(chief: Run) -> None:
    desk, told = RequestDesk(), cast(Any, Told())
    chief.resources.catalog = SimpleNamespace(
        manifests=lambda: [SimpleNamespace(info=SimpleNamespace(name="taken"))]
    )
    chief.asked = [
        MemberRequest(WORKER, CheckpointRequest(number, name), told)
        for number, name in enumerate(("", "taken", "new"))
    ]
    asked = chief.part(launched=True, desk=desk).tick()
    assert [each.name for each in asked if isinstance(each, CheckpointAsked)] == ["", "new"]
    refusal = "A checkpoint already has the name taken."
    assert told.sent == [(WORKER, CheckpointReply(1, refusal=refusal))]


def test_what_the_leader_answers_is_told_to_those_who_wait(chief: Run) -> None:
    desk, client = RequestDesk(), Client()
    desk.await_checkpoint(CheckpointAsked(client, ""), LeaderRequest(1))
    answer = CheckpointAnswer("00000007", 7, by="chief 0")
    chief.asked = [LeaderReply(1, answer)]
    assert list(chief.part(launched=True, desk=desk).tick()) == []
    assert client.told == [answer]


def test_a_leader_that_refuses_what_a_signal_has_asked_for_is_heard(chief: Run) -> None:
    chief.asked = [LeaderReply(1, Refusal("chief 0: no."))]
    [notice] = chief.part(launched=True, desk=RequestDesk()).tick()
    assert notice == Notice("nothing_to_save", "chief 0: no.")


def test_a_member_that_was_refused_is_not_stopped_for_its_leader(chief: Run) -> None:
    """Both are refused; which of them ends first makes no difference."""
    chief.resources.attempt_state = state = tell(AttemptState(), Notice("resume_refused", "N"), 0.0)
    chief.said = [released := MemberReleased("worker 0", "failed", 2, "it failed")]
    assert ended(chief.part(launched=False)) == [released]
    asked = tell(state, StopRequested("cluster", "graceful"), 0.0)
    assert decide(asked, signal.SIGTERM) == EndVerdict(Trigger.ENDED_FAILED, 2)
    stopped = tell(asked, TrainerStopped(7, 0, 7, "train"), 0.0)
    assert decide(stopped, 75 << 8) == EndVerdict(Trigger.ENDED_STOPPED, 75)


def test_a_chief_that_does_something_else_is_left_alone(chief: Run) -> None:
    part = chief.part(launched=True)
    chief.resources.beacon.write_phase(Phase.TRAIN)
    chief.said = [MemberEnded("worker 1", "host", "lost")]
    assert ended(part) == []
    assert ended(part) == []


@pytest.mark.parametrize(("follows", "leads"), [(True, False), (False, True), (False, False)])
def test_a_suspended_member_is_ended_where_others_wait(*, follows: bool, leads: bool) -> None:
    with closing(Beacon.create()) as beacon, subprocess.Popen(["sleep", "60"]) as process:
        role = "coordinator" if leads else "server"
        run = Run(beacon, RoleTaken(role, process.pid, "chief 0" if leads else "worker 1"))
        run.cluster.follows, run.cluster.is_awaited = follows, leads
        part = run.part(launched=True)
        assert ended(part) == []
        process.send_signal(signal.SIGSTOP)
        launch.until(lambda: is_suspended(process.pid))
        told = ended(part)
        process.kill()
    assert bool(told) == (follows or leads)
    if told:
        assert isinstance(told[0], TrainingStalled)
        assert told[0].doing == "stopped"
        assert told[1:] == [Trigger.HUNG]


@pytest.mark.parametrize("is_long", [True, False])
def test_a_member_that_goes_on_says_how_long_it_was_suspended(
    monkeypatch: pytest.MonkeyPatch, *, is_long: bool
) -> None:
    monkeypatch.setattr(membership, "LATE_SECONDS", 0.0 if is_long else math.inf)
    with closing(Beacon.create()) as beacon, subprocess.Popen(["sleep", "60"]) as process:
        run = Run(beacon, None)
        run.watched_pid, run.cluster.lease_seconds = process.pid, math.inf
        run.cluster.follows = "worker 0"
        part = run.part(launched=True)
        process.send_signal(signal.SIGSTOP)
        launch.until(lambda: is_suspended(process.pid))
        assert ended(part) == []
        process.send_signal(signal.SIGCONT)
        launch.until(lambda: not is_suspended(process.pid))
        told = ended(part)
        process.kill()
    assert [each.code for each in told if isinstance(each, Notice)] == ["suspended"] * is_long
    assert ended(part) == []


def test_a_suspended_task_of_a_run_of_several_is_killed_alone() -> None:
    with closing(Beacon.create()) as beacon, subprocess.Popen(["sleep", "60"]) as process:
        run = Run(beacon, RoleTaken("session", os.getpid(), "worker 0"))
        run.tasks = {os.getpid(): "worker 0", process.pid: "worker 1"}
        part = run.part(launched=False)
        assert ended(part) == []
        process.send_signal(signal.SIGSTOP)
        launch.until(lambda: is_suspended(process.pid))
        [told] = ended(part)
    assert isinstance(told, TrainingStalled)
    assert f"process {process.pid} was suspended" in told.place
    assert process.returncode == -signal.SIGKILL


@pytest.mark.parametrize(("trains", "back"), [(True, False), (True, True), (False, False)])
def test_a_run_whose_own_parameter_server_is_gone_is_ended(
    monkeypatch: pytest.MonkeyPatch, *, trains: bool, back: bool
) -> None:
    monkeypatch.setattr(membership, "_WITHOUT_SECONDS", 0.0)
    with closing(Beacon.create()) as beacon:
        run = Run(beacon, RoleTaken("session", os.getpid(), "worker 0"))
        if trains:
            started = FitStarted(0, 1, None, {})
            run.resources.attempt_state = tell(run.resources.attempt_state, started, 0.0)
        run.tasks = {os.getpid(): "worker 0", GONE: "ps 0"}
        run.tasks |= {os.getppid(): "ps 0"} if back else {}
        told = ended(run.part(launched=False))
    assert bool(told) == (trains and not back)
    if told:
        notice, trigger = told
        assert isinstance(notice, Notice)
        assert "ps 0 is gone" in notice.message
        assert trigger is Trigger.HUNG


@pytest.mark.parametrize("launched", [True, False])
@pytest.mark.parametrize(
    ("phase", "synchronous", "is_ended"),
    [
        (Phase.TRAIN, True, True),
        (Phase.FIRST_STEP, True, True),
        (Phase.TRAIN, False, False),
        (Phase.SAVING, True, False),
    ],
)
def test_a_session_whose_steps_need_a_lost_worker_is_stopped(
    chief: Run, *, launched: bool, phase: Phase, synchronous: bool, is_ended: bool
) -> None:
    chief.resources.beacon.write_phase(phase)
    role = tell(AttemptState(), RoleTaken("monitored_session", 1, "worker 0"), 0.0)
    data: dict[str, JsonValue] = {WAITS_FOR_OTHERS: True} if synchronous else {}
    chief.resources.attempt_state = tell(role, FitStarted(0, 1, None, data), 0.0)
    part = chief.part(launched=launched)
    chief.said = [MemberEnded("worker 1", "host", "failed", 137)]
    told = ended(part)
    assert bool(told) == is_ended
    if told:
        reason = "worker 1 is gone and the training cannot continue"
        assert told[1:] == [StopAsked(StopRequested("cluster", "graceful", reason=reason))]


@pytest.mark.parametrize(
    ("role", "step", "is_ended"),
    [
        ("", 40, True),
        ("member", 0, True),
        ("monitored_session", 0, True),
        ("monitored_session", 40, False),
        ("session", 40, False),
        ("server", 0, False),
        ("evaluator", 0, False),
    ],
)
def test_who_can_take_no_step_without_its_leader_ends_soon_after_it(
    role: str, step: int, *, is_ended: bool
) -> None:
    with closing(Beacon.create()) as beacon:
        beacon.write_position(step, 0, 0, 1, 0.0)
        run = Run(beacon, RoleTaken(role, 7, "worker 1") if role else None)
        part = run.part(launched=False)
        assert ended(part) == []
        run.cluster.over_seconds = 1.0
        assert ended(part) == []
        run.cluster.over_seconds = 2.0
        told = ended(part)
    assert bool(told) == is_ended
    if told:
        reason = "it completed 2 s ago"
        assert told == [
            MemberReleased("chief 0", "completed", 0, reason),
            StopAsked(StopRequested("cluster", "graceful", reason=f"chief 0: {reason}")),
        ]


def test_a_member_that_has_just_begun_again_is_not_taken_for_one_that_trains() -> None:
    """Its process may be about to say that it serves, and is released then."""
    with closing(Beacon.create()) as beacon:
        run = Run(beacon, None)
        run.trainer_pid = 0
        run.cluster.over_seconds = 100.0
        assert ended(run.part(launched=True)) == []


def test_a_member_that_is_being_killed_is_not_stopped_as_well() -> None:
    with closing(Beacon.create()) as beacon:
        run = Run(beacon, None)
        run.resources.lifecycle.state, run.resources.lifecycle.is_calm = State.ENDING, False
        released = MemberReleased("worker 0", "stopped", 75, "it was stopped")
        run.said = [released]
        assert ended(run.part(launched=True)) == [released]


@pytest.mark.parametrize("over_seconds", [-math.inf, 1.0])
def test_a_worker_goes_on_when_its_leader_has_completed_and_left(over_seconds: float) -> None:
    with closing(Beacon.create()) as beacon:
        run = Run(beacon, None)
        run.cluster.over_seconds = over_seconds
        run.said = [MemberReleased("worker 0", "lost", 75, "the connection was closed")]
        assert bool(ended(run.part(launched=False))) == (over_seconds < 0)
