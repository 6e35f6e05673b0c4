"""Files that an earlier attempt wrote behind the restored state."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pitstop.engine.changed_files import ChangedFiles

_NOW_SECONDS = time.time()


@pytest.fixture
def doubts() -> Iterator[list[str]]:
    found: list[str] = []
    files = ChangedFiles()
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


def test_it_is_told_once(doubts: list[str], tmp_path: Path) -> None:
    path = tmp_path / "log.txt"
    path.touch()
    os.utime(path, (0, _NOW_SECONDS - 50))
    _read(path)
    _read(path)
    assert len(doubts) == 1
