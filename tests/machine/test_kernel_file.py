"""Small files of the kernel."""

from __future__ import annotations

from pathlib import Path

from pitstop.machine.kernel_file import read_number, read_text, table


def test_what_a_file_holds(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x" * 200_000 + b"\xff")
    assert len(read_text(tmp_path / "file")) == 200_001


def test_what_is_not_there_is_empty(tmp_path: Path) -> None:
    assert read_text(tmp_path / "nothing") == ""
    assert read_text(tmp_path) == ""
    assert read_number(tmp_path / "nothing") is None


def test_a_number_or_a_word(tmp_path: Path) -> None:
    (tmp_path / "limit").write_text("4096\n")
    assert read_number(tmp_path / "limit") == 4096
    (tmp_path / "limit").write_text("max\n")
    assert read_number(tmp_path / "limit") is None


def test_tables() -> None:
    assert table("a 1\nb 2 3\nword\n") == {"a": "1", "b": "2 3"}
    assert table("MemTotal:  8 kB\n", ":") == {"MemTotal": "8 kB"}
