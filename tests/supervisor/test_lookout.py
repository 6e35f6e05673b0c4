"""The reasons to stop that nobody reports."""

from __future__ import annotations

from pathlib import Path

from pitstop.supervisor.deadline import Patience
from pitstop.supervisor.lookout import Lookout
from pitstop.supervisor.time_limit import TimeLimit

_LIMIT = TimeLimit(100.0, 100.0, "--max-time")


def test_nothing_to_see(tmp_path: Path) -> None:
    lookout = Lookout(tmp_path / "stop", None)
    assert lookout.request(1e9, 1.0, 1.0) is None


def test_the_folder_is_looked_into_often_enough_and_not_at_every_turn(tmp_path: Path) -> None:
    lookout = Lookout(tmp_path / "stop", None)
    assert lookout.request(10.0, 1.0, 1.0) is None
    (tmp_path / "stop").touch()
    assert lookout.request(10.1, 1.0, 1.0) is None
    asked = lookout.request(10.5, 1.0, 1.0)
    assert asked is not None
    assert asked.source == "file"


def test_the_clock_is_looked_at_at_every_turn(tmp_path: Path) -> None:
    lookout = Lookout(tmp_path / "stop", _LIMIT)
    assert lookout.request(94.9, 1.0, 1.0) is None
    asked = lookout.request(95.0, 1.0, 1.0)
    assert asked is not None
    assert asked.source == "time_limit"


def test_only_a_limit_cuts_a_wait(tmp_path: Path) -> None:
    wait = Patience(30.0, "why")
    assert Lookout(tmp_path, None).bound(wait, 99.0, 1.0) == wait
    assert Lookout(tmp_path, _LIMIT).bound(wait, 90.0, 1.0) == Patience(7.5, "why")
