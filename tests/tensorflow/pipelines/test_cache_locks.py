"""Lock files of file caches: which of them a killed attempt has left."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from pitstop.events import AttemptStarted
from pitstop.journal import Journal
from pitstop.store.run_folder import JOURNAL_FILE
from pitstop.tensorflow.pipelines.cache_locks import left_behind

_LATER_SECONDS = 60.0


@pytest.fixture
def lock(tmp_path: Path) -> Path:
    """One that the first attempt of a run has left."""
    (tmp_path / "attempts" / "2").mkdir(parents=True)
    with Journal(tmp_path / JOURNAL_FILE, 1) as journal:
        journal.append(AttemptStarted(1, ["x"], 1, 2, "host"))
    lock = tmp_path / "train_0.lockfile"
    lock.write_text("Created at: 1")
    return lock


def _found(lock: Path, prefix: str = "train") -> list[Path]:
    started_seconds = time.time() + _LATER_SECONDS
    attempt_dir = lock.parent / "attempts" / "2"
    return [*left_behind(str(lock.parent / prefix), attempt_dir, started_seconds)]


def test_that_of_an_earlier_attempt_is_found(lock: Path) -> None:
    assert _found(lock) == [lock]
    assert _found(lock, "val") == _found(lock, "") == []


@pytest.mark.parametrize("seconds", [-_LATER_SECONDS, 2 * _LATER_SECONDS])
def test_one_from_before_the_run_or_from_now_is_not_ours(seconds: float, lock: Path) -> None:
    at_seconds = time.time() + seconds
    os.utime(lock, (at_seconds, at_seconds))
    assert _found(lock) == []


def test_what_a_process_writes_is_left_alone(lock: Path) -> None:
    with (lock.parent / "train_0.data-00000-of-00001.tempstate17").open("w"):
        assert _found(lock) == []
    assert _found(lock) == [lock]
