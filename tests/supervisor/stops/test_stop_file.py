"""A file that asks for a stop."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.events import StopRequested
from pitstop.supervisor.stops.stop_sources import obey


def test_no_file_no_request(tmp_path: Path) -> None:
    assert obey(tmp_path / "stop") is None
    assert obey(tmp_path / "gone" / "stop") is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", ""),
        (b"\n \n", ""),
        (b"the node is needed\nsecond line\n", "the node is needed"),
        (b"\xff!", "\ufffd!"),
    ],
)
def test_the_first_line_is_the_reason_and_the_file_is_removed(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    file = tmp_path / "stop"
    file.write_bytes(content)
    asked = StopRequested("file", "graceful", sender_uid=os.getuid(), reason=reason)
    assert obey(file) == asked
    assert obey(file) is None


def test_a_long_text_is_not_read_whole(tmp_path: Path) -> None:
    file = tmp_path / "stop"
    file.write_bytes(b"x" * 10**6)
    asked = obey(file)
    assert asked is not None
    assert len(asked.reason) == 1000


def test_what_is_no_file_is_no_request(tmp_path: Path) -> None:
    (tmp_path / "stop").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert obey(tmp_path / "stop") is None
    assert obey(tmp_path / "pipe") is None
    assert (tmp_path / "pipe").exists()


def test_a_link_to_nowhere_is_no_request(tmp_path: Path) -> None:
    (tmp_path / "stop").symlink_to(tmp_path / "nowhere")
    assert obey(tmp_path / "stop") is None
