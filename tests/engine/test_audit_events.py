"""One hook for all that Python tells of."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from pitstop.engine import audit_events
from pitstop.engine.fence import Fence


def test_who_asked_for_an_event_hears_of_it_alone_and_from_where(tmp_path: Path) -> None:
    heard: list[tuple[str, str]] = []

    def handler(event: str, arguments: tuple[Any, ...], frame: FrameType | None) -> None:
        if arguments[0] == str(tmp_path / "made") and frame is not None:
            heard.append((event, frame.f_code.co_name))

    audit_events.subscribe(("os.mkdir", "os.rmdir"), handler)
    os.mkdir(str(tmp_path / "made"))  # noqa: PTH102  its frame is this one
    id(heard)
    os.rmdir(str(tmp_path / "made"))  # noqa: PTH106
    here = "test_who_asked_for_an_event_hears_of_it_alone_and_from_where"
    assert heard == [("os.mkdir", here), ("os.rmdir", here)]


def test_what_fails_in_a_handler_does_not_fail_in_the_script(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    noted: list[str] = []
    monkeypatch.setattr(Fence, "note", lambda *each: noted.append(str(each[-1])))

    def handler(_: str, arguments: tuple[Any, ...], __: FrameType | None) -> None:
        if arguments[0] == str(tmp_path):
            raise ValueError("no matter")

    audit_events.subscribe(("os.listdir",), handler)
    assert os.listdir(str(tmp_path)) == []  # noqa: PTH208
    assert noted == ["no matter"]


def test_the_interpreter_itself_opens_the_script_without_a_frame(tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text("print('ran')")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "from pitstop.engine.files.earlier_files import EARLIER\nEARLIER.listen()\n"
    )
    path = os.pathsep.join([str(site), *sys.path])
    ran = subprocess.run(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.stdout == "ran\n", ran.stderr
