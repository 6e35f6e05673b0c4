"""Who is said to be missing where all members wait for each other."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pitstop.cluster.cluster_link import ClusterLink
from pitstop.supervisor.attempt.assembly_wait import AssemblyWait, waiting_for

OTHERS = ["worker 1", "worker 2"]
LEADER = "worker 0"


def member(task: str, *, is_live: bool = True) -> SimpleNamespace:
    return SimpleNamespace(task=task, is_live=is_live)


def told(monkeypatch: pytest.MonkeyPatch, cluster: dict[str, Any], seconds: float) -> list[str]:
    """What is said so long after the wait began."""
    link = SimpleNamespace(**{"leads": None, "follows": None, "awaited_leader": LEADER, **cluster})
    wait = AssemblyWait(cast(ClusterLink, link))
    assert list(wait.look()) == []
    wait.begin(OTHERS)
    now_seconds = time.monotonic() + seconds
    monkeypatch.setattr(time, "monotonic", lambda: now_seconds)
    return [each.message for _ in range(2) for each in wait.look()]


@pytest.mark.parametrize(
    ("cluster", "missing"),
    [
        ({}, "worker 0 (the leader)"),
        ({"leads": SimpleNamespace(members=())}, "worker 1 and worker 2"),
        ({"leads": SimpleNamespace(members=[member("worker 1")])}, "worker 2"),
        (
            {
                "leads": SimpleNamespace(
                    members=[member("worker 1"), member("worker 2", is_live=False)]
                )
            },
            "worker 2",
        ),
    ],
    ids=["leader", "all", "one", "gone"],
)
def test_one_that_never_came_is_named_once(
    monkeypatch: pytest.MonkeyPatch, cluster: dict[str, Any], missing: str
) -> None:
    [message] = told(monkeypatch, cluster, 16.0)
    assert message.startswith(f"Waiting for {missing}, not seen in 15 s:")


@pytest.mark.parametrize(
    ("cluster", "seconds"),
    [
        ({}, 14.0),
        ({"follows": "the leader"}, 16.0),
        ({"leads": SimpleNamespace(members=[member("worker 1"), member("worker 2")])}, 16.0),
    ],
    ids=["early", "leader knows", "all there"],
)
def test_nobody_is_named(
    monkeypatch: pytest.MonkeyPatch, cluster: dict[str, Any], seconds: float
) -> None:
    assert told(monkeypatch, cluster, seconds) == []


def test_of_many_who_are_waited_for_some_are_named() -> None:
    message = waiting_for([f"worker {index}" for index in range(1, 1000)], 60.0).message
    assert "for worker 1, worker 2, worker 3, worker 4, worker 5 and 994 more:" in message
