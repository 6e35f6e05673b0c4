"""The reasons to stop that nobody reports."""

from __future__ import annotations

from pathlib import Path

from pitstop.supervisor.lifecycle.deadline import Patience
from pitstop.supervisor.stops.stop_sources import StopSources, TimeLimit

_LIMIT = TimeLimit(100.0, 100.0, "--max-time")


def test_nothing_to_see(tmp_path: Path) -> None:
    stop_sources = StopSources(tmp_path / "stop", None)
    assert stop_sources.request(1e9, 1.0, 1.0) is None


def test_the_folder_is_looked_into_often_enough_and_not_at_every_turn(tmp_path: Path) -> None:
    stop_sources = StopSources(tmp_path / "stop", None)
    assert stop_sources.request(10.0, 1.0, 1.0) is None
    (tmp_path / "stop").touch()
    assert stop_sources.request(10.1, 1.0, 1.0) is None
    asked = stop_sources.request(10.5, 1.0, 1.0)
    assert asked is not None
    assert asked.source == "file"


def test_the_clock_is_looked_at_at_every_turn(tmp_path: Path) -> None:
    stop_sources = StopSources(tmp_path / "stop", _LIMIT)
    assert stop_sources.request(94.9, 1.0, 1.0) is None
    asked = stop_sources.request(95.0, 1.0, 1.0)
    assert asked is not None
    assert asked.source == "time_limit"


def test_only_a_limit_cuts_a_wait(tmp_path: Path) -> None:
    wait = Patience(30.0, "why")
    assert StopSources(tmp_path, None).bound(wait, 99.0, 1.0) == wait
    assert StopSources(tmp_path, _LIMIT).bound(wait, 90.0, 1.0) == Patience(7.5, "why")
