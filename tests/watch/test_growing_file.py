"""A file is read as it grows."""

from __future__ import annotations

import os
from pathlib import Path

from pitstop.watch.growing_file import GrowingFile


def test_only_whole_lines_come_and_each_once(tmp_path: Path) -> None:
    path = tmp_path / "file"
    file = GrowingFile(path)
    assert file.lines() == []
    path.write_bytes(b"one\ntw")
    assert file.lines() == [b"one\n"]
    assert file.lines() == []
    with path.open("ab") as more:
        more.write(b"o\nthree\n")
    assert file.lines() == [b"two\n", b"three\n"]


def test_another_file_of_the_name_is_read_from_its_beginning(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one\nrest")
    file = GrowingFile(path)
    file.lines()
    (tmp_path / "new").write_bytes(b"two\nthree\n")
    (tmp_path / "new").rename(path)
    assert file.lines() == [b"two\n", b"three\n"]
    path.write_bytes(b"x\n")
    assert file.lines() == [b"x\n"]


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert GrowingFile(tmp_path / "pipe").lines() == []
    assert GrowingFile(tmp_path).lines() == []
