"""What a process asks its companion to supervise."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from pitstop.engine.connection.companion import CompanionRequest

_WORKER = "/env/lib/ray/_private/workers/default_worker.py"


def test_a_worker_of_ray_is_the_same_command_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    requests = []
    for token in ("7", "8"):
        monkeypatch.setattr(sys, "orig_argv", ["python", _WORKER, f"--startup-token={token}"])
        requests.append(CompanionRequest("runs/cnn").to_json())
    assert requests[0] == requests[1]
    assert requests[0]["run_dir"] == str(tmp_path / "runs" / "cnn")
    assert CompanionRequest("s3://bucket/cnn").to_json()["run_dir"] == "s3://bucket/cnn"


def test_a_script_is_its_whole_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "orig_argv", ["python", "train.py", "--lr", "0.1"])
    told = CompanionRequest("runs/cnn").to_json()
    assert told["command"] == [sys.executable, "train.py", "--lr", "0.1"]
    assert told["run_dir"] == "runs/cnn"
