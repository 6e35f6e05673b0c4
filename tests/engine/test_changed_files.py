"""Files that an earlier attempt wrote behind the restored state."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pitstop.engine.earlier_files import EarlierFiles, ReadBack

_NOW_SECONDS = time.time()


@pytest.fixture
def doubts() -> Iterator[list[str]]:
    found: list[str] = []
    files = EarlierFiles()
    files.watch(_NOW_SECONDS - 100, found.append)
    yield found
    files.leave()


def _append(path: Path) -> None:
    path.open("a").close()


def _replace(path: Path) -> None:
    path.open("w").close()


def _read(path: Path) -> None:
    path.read_bytes()


@pytest.mark.parametrize(
    ("age_seconds", "act", "is_told"),
    [
        (50, _append, True),
        (50, _read, True),
        (50, _replace, False),
        (200, _append, False),
        (-5000, _read, False),
    ],
)
def test_what_is_told(
    doubts: list[str],
    tmp_path: Path,
    age_seconds: float,
    act: Callable[[Path], None],
    is_told: bool,
) -> None:
    path = tmp_path / "log.txt"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    act(path)
    assert [str(path) in each for each in doubts] == [True] * is_told


@pytest.mark.parametrize(("age_seconds", "is_told"), [(50, True), (200, False)])
@pytest.mark.parametrize("is_open", [False, True])
def test_a_database_is_told_wherever_it_was_opened(
    tmp_path: Path,
    age_seconds: float,
    is_told: bool,
    is_open: bool,
) -> None:
    """A script opens it once, before it trains."""
    path = tmp_path / "study.db"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - age_seconds))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    if is_open:
        sqlite3.connect(str(path)).close()
    files.watch(_NOW_SECONDS - 100, found.append)
    if not is_open:
        sqlite3.connect(str(path)).close()
    files.leave()
    assert [str(path) in each for each in found] == [True] * is_told


def test_what_is_not_only_read_is_told_in_a_restored_training_alone(tmp_path: Path) -> None:
    path = tmp_path / "results.h5"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - 50))
    found: list[str] = []
    files = EarlierFiles()
    files.listen()
    files.note(str(path), is_only_read=False)
    assert files.read_back(tmp_path / "run/attempts/2", 0.0) == ReadBack()
    files.watch(_NOW_SECONDS - 100, found.append)
    files.note(str(path), is_only_read=False)
    files.leave()
    assert len(found) == 1


def test_it_is_told_once(doubts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - 50))
    _read(path)
    _read(path)
    assert len(doubts) == 1
