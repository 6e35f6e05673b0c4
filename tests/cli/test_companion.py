"""What a trainer and the supervisor that it starts say to each other before they connect."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pitstop.cli import companion
from pitstop.cli.companion import accompany, read_request
from pitstop.engine.connection.companion import CompanionRequest, RunUnavailable, start_companion
from pitstop.errors import UserError
from pitstop.link.settings import ENV_SOCKET, Settings
from pitstop.supervisor.runs.run_request import RunRequest


def test_a_request_arrives_as_it_was_meant() -> None:
    asked = CompanionRequest(Path("runs/a b"), Settings(0.02, every_steps=7), max_seconds=0.0)
    request = read_request(json.dumps(asked.to_json()))
    assert request == RunRequest(
        run_dir=Path("runs/a b"),
        command=(sys.executable, *sys.orig_argv[1:]),
        settings=Settings(0.02, every_steps=7),
        max_seconds=0.0,
        status_line=False,
        trainer_pid=os.getpid(),
    )


def test_a_url_is_a_mirror() -> None:
    request = read_request(json.dumps(CompanionRequest("s3://bucket/runs/cnn").to_json()))
    assert (request.run_dir, request.mirror) == (Path("runs/cnn"), "s3://bucket/runs/cnn")


def test_the_answer_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    def supervise(_: object, __: object, ready: Callable[[str], None]) -> None:
        ready("/run/socket")
        raise UserError("Too late.", "Nobody hears it.")

    monkeypatch.setattr(companion, "supervise", supervise)
    reading, writing = os.pipe()
    request = json.dumps(CompanionRequest("run").to_json())
    assert accompany([request, str(writing)]) == 2
    with os.fdopen(reading) as lines:
        assert json.loads(lines.read()) == {"socket": "/run/socket"}


def test_a_folder_that_cannot_be_used_is_told_with_its_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(ENV_SOCKET, raising=False)
    (tmp_path / "run").write_text("I am a file")
    with pytest.raises(RunUnavailable, match="does not name a folder"):
        start_companion(CompanionRequest("s3://bucket"))
    with pytest.raises(RunUnavailable, match="is a file") as caught:
        start_companion(CompanionRequest(tmp_path / "run"))
    assert caught.value.remedy
    assert ENV_SOCKET not in os.environ
