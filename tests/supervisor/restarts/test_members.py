"""A member that was ended because another one was lost: when it starts again."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.events import Event, GangBroken, MemberReleased, RestartPlanned, RestartRefused
from pitstop.store.run_folder import open_or_create
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.restarts.restarts import RestartPolicy, Restarts


@pytest.mark.parametrize(
    ("outcome", "kind"),
    [("", RestartPlanned), ("lost", RestartPlanned), ("failed", RestartRefused)],
)
def test_a_member_does_not_start_again_for_a_leader_that_has_failed_for_good(
    tmp_path: Path, outcome: str, kind: type[Event]
) -> None:
    """It would wait for it without end."""
    folder = open_or_create(tmp_path / "run", ["train"], tmp_path)
    folder.journal.touch()
    rollbacks: Any = SimpleNamespace(after=lambda *_: False, exit_code=None)
    restarts = Restarts(RestartPolicy(3), lambda _: "worker_lost", rollbacks)
    released = MemberReleased("worker 0", outcome, 2, "why") if outcome else None
    found = AttemptState(broken=GangBroken("a-2", "worker 0", "its end"), released=released)
    told: list[Event] = []
    wait_seconds = restarts.after(State.STOPPED, 7, folder.path, told.append, found)
    assert (wait_seconds is None) == (kind is RestartRefused)
    assert [type(each) for each in told] == [kind]
