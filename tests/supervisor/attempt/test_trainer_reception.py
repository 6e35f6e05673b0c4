"""Which of several tasks of a cluster may train in a run that has started them."""

from __future__ import annotations

import os
from contextlib import closing
from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.events import RoleTaken
from pitstop.link.beacon import Beacon
from pitstop.link.messages import Hello, Refusal, Welcome
from pitstop.link.settings import Settings
from pitstop.link.wire import PROTOCOL, pair
from pitstop.supervisor.attempt.trainer_reception import TrainerReception
from pitstop.supervisor.lifecycle.occurrences import (
    EventLoop,
    Occurrence,
    RoleAsked,
    TrainerCameIn,
    TrainingAsked,
)

CLUSTER = {"ps": ["a:1"], "worker": ["a:2", "a:3"]}
GONE_PID = 2**22 + 1  # above the largest process id


@pytest.mark.parametrize(
    ("task", "other_is_there", "follows", "may_train"),
    [
        ("worker 1", True, None, False),
        ("worker 1", False, None, True),
        ("worker 1", True, "a leader in another run", True),
        ("worker 0", True, None, True),
        ("", True, None, True),
    ],
)
def test_the_leader_trains_and_not_another_task_of_the_same_run(
    task: str, follows: str | None, *, other_is_there: bool, may_train: bool
) -> None:
    with closing(Beacon.create()) as beacon, closing(EventLoop()) as event_loop:
        resources: Any = SimpleNamespace(
            plan=SimpleNamespace(welcome=lambda: Welcome(1, "", 1, Settings(), -1, ())),
            event_loop=event_loop,
            beacon=beacon,
            lifecycle=SimpleNamespace(is_live=True),
            run=SimpleNamespace(cluster=SimpleNamespace(follows=follows)),
        )
        trainers = TrainerReception(resources)
        other_pid = os.getpid() if other_is_there else GONE_PID
        for pid, name in ((other_pid, "ps 0"), (7, task)):
            trainers.role_asked(RoleAsked(RoleTaken("member", pid, name), CLUSTER))
        ours, theirs = pair()
        asked = TrainingAsked(ours, Hello(PROTOCOL, 7, "3.11", []))
        heard: list[Occurrence] = list(trainers.training_asked(asked))
        assert heard == ([TrainerCameIn(7)] if may_train else [])
        if may_train:
            trainers.slot.clear()
        else:
            assert isinstance(theirs.receive().message, Refusal)
        theirs.close()
