"""The wait of a run that is started again for a leader that may have completed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.cluster.spec import ASSEMBLING, REPLICA, Task
from pitstop.events import AttemptEnded, Event, MemberReleased, Notice, RoleTaken
from pitstop.journal import Journal
from pitstop.link.beacon import Beacon
from pitstop.store.run_folder import open_or_create
from pitstop.supervisor.attempt.leader_wait import LeaderWait
from pitstop.supervisor.records.attempt_state import AttemptState, tell
from pitstop.supervisor.records.history import LEADER_AWAITED, History, LeaderBefore

LEADER = Task("worker", 0)


@pytest.fixture
def beacon() -> Iterator[Beacon]:
    with closing(Beacon.create()) as made:
        yield made


def wait(
    beacon: Beacon,
    known: LeaderBefore,
    role: str,
    run_dir: Path = Path("run"),
) -> tuple[LeaderWait, Any]:
    cluster: Any = SimpleNamespace(
        awaited_leader=LEADER, unreached_seconds=0.0, lease_seconds=5.0, linger_seconds=9.0
    )
    is_role = role not in (ASSEMBLING, REPLICA)
    taken = tell(AttemptState(), RoleTaken(role, 7), 0.0) if is_role else AttemptState()
    plan = SimpleNamespace(history=History(leader=known), request=SimpleNamespace(run_dir=run_dir))
    resources: Any = SimpleNamespace(
        run=SimpleNamespace(cluster=cluster), attempt_state=taken, plan=plan, beacon=beacon
    )
    made = LeaderWait(resources)
    made.role_asked(role)
    return made, cluster


def told_after(made: LeaderWait, cluster: Any, seconds: float) -> list[Event]:
    cluster.unreached_seconds = seconds
    return list(made.look())


@pytest.mark.parametrize("role", ["server", "member", "monitored_session", ASSEMBLING])
def test_a_leader_that_was_there_is_awaited_for_a_while(beacon: Beacon, role: str) -> None:
    made, cluster = wait(beacon, LeaderBefore.THERE, role)
    assert told_after(made, cluster, 2.0) == []
    [notice] = told_after(made, cluster, 3.0)
    assert isinstance(notice, Notice)
    assert notice.code == LEADER_AWAITED
    assert told_after(made, cluster, 8.0) == []
    reason = "it did not answer for 9 s"
    assert told_after(made, cluster, 9.0) == [MemberReleased("worker 0", "lost", 75, reason)]


def test_a_leader_that_had_completed_is_awaited_for_its_lease(beacon: Beacon) -> None:
    made, cluster = wait(beacon, LeaderBefore.COMPLETED, "server")
    assert told_after(made, cluster, 4.0) == []
    [released] = told_after(made, cluster, 5.0)
    assert isinstance(released, MemberReleased)
    assert (released.outcome, released.exit_code) == ("completed", 0)


@pytest.mark.parametrize(
    ("known", "role", "step"),
    [
        (LeaderBefore.UNKNOWN, "server", 0),
        (LeaderBefore.THERE, REPLICA, 0),
        (LeaderBefore.THERE, "monitored_session", 3),
        (LeaderBefore.THERE, "coordinator", 0),
    ],
)
def test_who_trains_or_has_never_reached_a_leader_is_left_alone(
    beacon: Beacon, known: LeaderBefore, role: str, step: int
) -> None:
    beacon.write_position(step, 0, 0, 1, 0.0)
    made, cluster = wait(beacon, known, role)
    assert told_after(made, cluster, 100.0) == []


def test_the_folder_of_a_launch_says_that_its_leader_has_completed(
    beacon: Beacon, tmp_path: Path
) -> None:
    leader = open_or_create(tmp_path / "members" / "worker-0", ["python", "x.py"], tmp_path)
    own = tmp_path / "members" / "worker-1"
    made, cluster = wait(beacon, LeaderBefore.UNKNOWN, ASSEMBLING, own)
    assert told_after(made, cluster, 6.0) == []
    with Journal(leader.journal, 1) as record:
        record.append(AttemptEnded(1, "completed", 0, 3, None))
    made, cluster = wait(beacon, LeaderBefore.UNKNOWN, ASSEMBLING, own)
    [released] = told_after(made, cluster, 6.0)
    assert isinstance(released, MemberReleased)
    assert released.outcome == "completed"
