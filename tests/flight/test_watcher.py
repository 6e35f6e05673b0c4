"""Readings that may never end."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from pitstop.flight.sampler import Watcher


def test_the_latest_reading_is_there() -> None:
    counts, seen = iter(range(1000)), threading.Event()

    def read() -> int:
        count = next(counts)
        if count == 3:
            seen.set()
        return count

    watcher = Watcher("test", read, -1, 0.001)
    assert watcher.latest == -1
    watcher.start()
    assert seen.wait(10)
    watcher.close(10)
    assert watcher.latest >= 3
    assert watcher.waits_seconds == 0.0


def test_one_that_does_not_answer_holds_nobody_up(tmp_path: Path) -> None:
    """A pipe that nobody writes to: like a file system whose server is gone."""
    pipe, begun = tmp_path / "pipe", threading.Event()
    os.mkfifo(pipe)

    def read() -> str:
        begun.set()
        return pipe.read_text()

    watcher = Watcher("test", read, "old", 0.001)
    watcher.start()
    assert begun.wait(10)
    assert watcher.latest == "old"
    first = watcher.waits_seconds
    assert 0 < first < watcher.waits_seconds
    watcher.close()
    pipe.write_text("new")
    watcher.close(10)
    assert watcher.latest == "new"
