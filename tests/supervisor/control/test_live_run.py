"""What a command asks the supervisor of a run, with the answers played to it."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.errors import EnvironmentFault, NoAnswer, PeerClosed
from pitstop.link.messages import ClientRequest, StatusAnswer
from pitstop.supervisor.control import live_run
from pitstop.supervisor.control.live_run import LiveRun
from pitstop.supervisor.status import Status

ROW = {"task": "chief 0", "host": "a", "state": "running", "phase": "train", "step": 3}


class Supervisor:
    """Gives one status after the other, the last one again and again."""

    def __init__(self, *statuses: Status) -> None:
        self.statuses = list(statuses)
        self.asked: list[ClientRequest] = []
        self.socket = SimpleNamespace(settimeout=lambda _: None)

    def send(self, request: ClientRequest) -> None:
        self.asked.append(request)

    def receive(self) -> Any:
        now = self.statuses.pop(0) if len(self.statuses) > 1 else self.statuses[0]
        return SimpleNamespace(message=StatusAnswer(now.to_json()))


def _of_all(supervisor: Any) -> Status:
    return LiveRun(supervisor, 1).status_of_all()


def test_the_rows_of_a_leader_are_waited_for() -> None:
    alone = Status("running", leader="chief 0")
    supervisor = Supervisor(alone, alone, Status("running", leader="chief 0", members=[ROW]))
    assert _of_all(supervisor).members == [ROW]
    assert supervisor.asked == [ClientRequest("status", of_all=True)] * 3


def test_a_leader_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_run, "ANSWER_SECONDS", -1.0)
    now = _of_all(Supervisor(Status("running", step=7, leader="chief 0")))
    silent = {"task": "chief 0", "host": "", "state": "no_answer", "phase": "", "step": None}
    assert (now.step, now.members) == (7, [silent])


def test_nobody_is_waited_for_without_a_leader() -> None:
    supervisor = Supervisor(Status("running"))
    assert _of_all(supervisor) == Status("running")
    assert len(supervisor.asked) == 1


def test_a_run_that_ends_before_it_saves_a_checkpoint_says_so() -> None:
    class Ends(Supervisor):
        def receive(self) -> Any:
            raise NoAnswer("It is late.") if told == [] else PeerClosed("It is gone.")

    told: list[str] = []
    supervisor: Any = Ends(Status("running"))
    with pytest.raises(EnvironmentFault, match="ended"):
        LiveRun(supervisor, 1).checkpoint("", lambda: told.append("later"))
    assert told == ["later"]
