"""What the command line asks."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from pitstop.errors import PeerClosed
from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    GangSaved,
    MemberReleased,
    RoleTaken,
    StopRequested,
)
from pitstop.link.messages import (
    CheckpointAnswer,
    ClientRequest,
    Refusal,
    ReleaseAnswer,
    RoleReport,
)
from pitstop.link.wire import Connection, pair
from pitstop.supervisor.control.requests import LeaderRequest, RequestDesk
from pitstop.supervisor.lifecycle.occurrences import (
    CheckpointAsked,
    RoleAsked,
    StatusAsked,
    StopAsked,
)
from pitstop.supervisor.status import Status
from tests.messages import body_of

Ends = tuple[Connection, Connection]


@pytest.fixture
def ends() -> Iterator[Ends]:
    ours, theirs = pair()
    yield ours, theirs
    ours.close()
    theirs.close()


class _Desk(RequestDesk):
    """A desk, and what an attempt does with what it tells."""

    def __init__(self, step: int | LeaderRequest | None = 7) -> None:
        super().__init__()
        self.step = step
        self.stops: list[StopRequested] = []
        self.names: list[str] = []

    def ask(self, connection: Connection, request: ClientRequest) -> None:
        for told in self.serve(connection, request):
            match told:
                case StopAsked(event):
                    self.stops.append(event)
                case StatusAsked():
                    self.tell_status(told, Status("running", step=7))
                case CheckpointAsked():
                    self.names.append(told.name)
                    self.await_checkpoint(told, self.step)


def _committed(step: int, name: str = "") -> CheckpointCommitted:
    return CheckpointCommitted(step, 0, f"{step:08d}", 1, 0.1, "cadence", name)


def test_status(ends: Ends) -> None:
    _Desk().ask(ends[0], ClientRequest(command="status"))
    assert body_of(ends[1].receive())["status"]["step"] == 7


@pytest.mark.parametrize(("now", "urgency"), [(False, "graceful"), (True, "now")])
def test_stop_names_who_asked(ends: Ends, now: bool, urgency: str) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest(command="stop", now=now))
    assert body_of(ends[1].receive())["status"]["state"] == "running"
    [stop] = desk.stops
    assert (stop.source, stop.urgency, stop.sender_pid) == ("command", urgency, os.getpid())
    assert stop.sender_command


def test_a_process_with_a_part_in_a_cluster_is_heard(ends: Ends) -> None:
    desk = _Desk()
    role, answer = desk.take_role(ends[0], RoleReport("server", "ps 0", {"ps": ["a:1"]}))
    assert role == RoleAsked(RoleTaken("server", os.getpid(), "ps 0"), {"ps": ["a:1"]})
    assert answer == StatusAsked(ends[0])


def test_servers_are_told_when_the_training_is_over(ends: Ends) -> None:
    released = MemberReleased("chief 0", "completed", 3, "why")
    desk = _Desk()
    desk.await_release(ends[0])
    desk.recorded(released)
    desk.await_release(ends[0])
    assert [ends[1].receive().message for _ in range(2)] == [ReleaseAnswer(3)] * 2


def test_who_evaluates_is_told_at_once_whether_the_training_is_over(ends: Ends) -> None:
    desk = _Desk()
    desk.await_release(ends[0], waits=False)
    assert isinstance(ends[1].receive().message, Refusal)
    desk.recorded(MemberReleased("chief 0", "completed", 0, "why"))
    assert not desk.has_released
    desk.await_release(ends[0], waits=False)
    assert ends[1].receive().message == ReleaseAnswer(0)


def test_a_server_that_has_gone_is_told_nothing(ends: Ends) -> None:
    desk = _Desk()
    desk.await_release(ends[0])
    desk.forget(ends[0])
    desk.recorded(MemberReleased("chief 0", "completed", 0, "why"))
    ends[0].close()
    with pytest.raises(PeerClosed):
        ends[1].receive()


def test_a_script_that_asks_for_itself_says_why(ends: Ends) -> None:
    request = ClientRequest("stop", source="script", reason="good enough")
    desk = _Desk()
    desk.ask(ends[0], request)
    [stop] = desk.stops
    assert (stop.source, stop.urgency, stop.reason) == ("script", "graceful", "good enough")


def test_nobody_asks_in_another_s_name(ends: Ends) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest(command="stop", source="signal"))
    assert [stop.source for stop in desk.stops] == ["command"]


def test_a_member_that_saves_nothing_says_who_does(ends: Ends) -> None:
    _Desk().await_checkpoint(CheckpointAsked(ends[0], ""), None, leader="chief 0")
    assert "In this cluster, chief 0 saves." in body_of(ends[1].receive())["reason"]


def test_a_checkpoint_of_the_leader_answers_those_who_wait_for_it(ends: Ends) -> None:
    desk = _Desk(step=LeaderRequest(1))
    desk.ask(ends[0], ClientRequest("checkpoint", name="best"))
    desk.recorded(_committed(9, "best"))
    assert desk.leader_answered(1, CheckpointAnswer("00000007", 7, by="chief 0"))
    answer = body_of(ends[1].receive())
    assert (answer["checkpoint"], answer["step"], answer["by"]) == ("00000007", 7, "chief 0")


def test_two_clients_at_one_moment_get_the_leader_s_answers_to_their_own_requests(
    ends: Ends,
) -> None:
    desk = _Desk(step=LeaderRequest(1))
    other, client = pair()
    desk.ask(ends[0], ClientRequest("checkpoint"))
    desk.step = LeaderRequest(2)
    desk.ask(other, ClientRequest("checkpoint"))
    assert desk.leader_answered(2, Refusal("chief 0: no."))
    assert body_of(client.receive()) == {"reason": "chief 0: no."}
    assert desk.leader_answered(1, CheckpointAnswer("00000007", 7, by="chief 0"))
    assert body_of(ends[1].receive())["step"] == 7
    assert not desk.leader_answered(2, Refusal("chief 0: no."))
    other.close()
    client.close()


def test_all_whose_requests_were_handed_on_hear_that_the_leader_is_gone(ends: Ends) -> None:
    desk = _Desk(step=LeaderRequest(5))
    desk.ask(ends[0], ClientRequest("checkpoint"))
    assert desk.leader_answered(0, Refusal("The connection was closed."))
    assert body_of(ends[1].receive()) == {"reason": "The connection was closed."}


def test_an_answer_of_the_leader_is_not_for_those_who_wait_for_this_run(ends: Ends) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest("checkpoint"))
    assert not desk.leader_answered(0, Refusal("chief 0: no."))
    desk.recorded(_committed(7))
    assert body_of(ends[1].receive())["step"] == 7


def test_checkpoint_answers_only_with_one_that_is_not_older(ends: Ends) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest(command="checkpoint"))
    desk.recorded(_committed(6))
    desk.recorded(_committed(8))
    desk.recorded(_committed(9))
    assert body_of(ends[1].receive()) == {"checkpoint": "00000008", "step": 8, "by": ""}


def test_a_checkpoint_of_all_members_is_answered_when_all_have_it(ends: Ends) -> None:
    desk = RequestDesk()
    desk.await_checkpoint(CheckpointAsked(ends[0], "mine"), 7, of_all=True)
    desk.recorded(_committed(9, "mine"))
    desk.recorded(GangSaved("a-2", 8, "00000008"))
    desk.recorded(GangSaved("a-2", 9, "00000009", "mine"))
    assert body_of(ends[1].receive()) == {"checkpoint": "00000009", "step": 9, "by": ""}


def test_a_release_of_one_process_leaves_the_others_waiting(ends: Ends) -> None:
    desk = RequestDesk()
    desk.await_release(ends[0])
    desk.release(75, pid=os.getpid() + 1)
    assert desk.awaits_release(os.getpid())
    assert not desk.has_released
    desk.release(75, pid=os.getpid())
    assert body_of(ends[1].receive()) == {"exit_code": 75}
    assert not desk.awaits_release(os.getpid())


def test_a_named_checkpoint_is_answered_with_the_one_of_that_name(ends: Ends) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest(command="checkpoint", name="mine"))
    assert desk.names == ["mine"]
    desk.recorded(_committed(8))
    desk.recorded(_committed(9, "mine"))
    assert body_of(ends[1].receive()) == {"checkpoint": "00000009", "step": 9, "by": ""}


def test_two_names_at_a_time_are_refused(ends: Ends) -> None:
    desk = _Desk()
    other, client = pair()
    desk.ask(ends[0], ClientRequest(command="checkpoint", name="mine"))
    desk.ask(other, ClientRequest(command="checkpoint", name="yours"))
    assert "Try again" in body_of(client.receive())["reason"]
    desk.recorded(_committed(9, "mine"))
    desk.ask(other, ClientRequest(command="checkpoint", name="yours"))
    assert desk.names == ["mine", "yours"]
    other.close()
    client.close()


def test_checkpoint_that_failed_is_refused_with_the_reason(ends: Ends) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest(command="checkpoint"))
    desk.recorded(CheckpointFailed(8, "The disk is full.", "Free some."))
    assert body_of(ends[1].receive()) == {"reason": "The disk is full. Free some."}


def test_checkpoint_without_training_is_refused(ends: Ends) -> None:
    _Desk(step=None).ask(ends[0], ClientRequest(command="checkpoint"))
    assert "nothing to save" in body_of(ends[1].receive())["reason"]


def test_client_that_left_is_not_answered(ends: Ends) -> None:
    desk = _Desk()
    desk.ask(ends[0], ClientRequest(command="checkpoint"))
    desk.forget(ends[0])
    desk.recorded(_committed(9))
    desk.ask(ends[0], ClientRequest(command="dance"))
    assert "dance" in body_of(ends[1].receive())["reason"]
