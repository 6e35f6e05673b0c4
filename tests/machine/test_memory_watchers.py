"""Which programs that kill for memory are running."""

from __future__ import annotations

from pathlib import Path

from pitstop.machine import memory


def process(proc: Path, pid: int, name: str) -> None:
    folder = proc / str(pid)
    folder.mkdir()
    (folder / "comm").write_text(f"{name}\n")


def test_each_is_named_once_and_in_full(tmp_path: Path) -> None:
    process(tmp_path, 1, "systemd")
    process(tmp_path, 7, "earlyoom")
    process(tmp_path, 8, "earlyoom")
    process(tmp_path, 9, "low-memory-moni")  # the kernel cuts names
    (tmp_path / "10").mkdir()  # gone between two reads
    assert memory.running(tmp_path) == ["earlyoom", "low-memory-monitor"]
