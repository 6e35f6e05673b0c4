"""Clients of a run whose supervisor or trainer is suspended by somebody."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import psutil
import pytest

from pitstop.events import TrainerConnected
from tests.integration.supervisor.launch import (
    call,
    finish,
    last,
    run_trainer,
    until,
    until_line,
)


@pytest.mark.parametrize("whom", ["supervisor", "trainer"])
def test_all_clients_agree_on_a_suspended_run_and_stop_wakes_it(tmp_path: Path, whom: str) -> None:
    run = run_trainer(tmp_path, "--steps", 4000, "--step-seconds", 0.02)
    until_line(run, b"step 5\n")
    pid = run.pid if whom == "supervisor" else last(tmp_path, TrainerConnected).pid
    suspended = psutil.Process(pid)
    suspended.send_signal(signal.SIGSTOP)
    until(lambda: suspended.status() == psutil.STATUS_STOPPED)
    for command in ("status", "why"):
        answer = json.loads(call(tmp_path, command, "run", "--json").stdout)
        assert answer["state"] == "suspended"
    (listed,) = json.loads(call(tmp_path, "ls", ".", "--json").stdout)
    assert listed["state"] == "suspended"
    assert call(tmp_path, "checkpoints", "run").returncode == 0
    refused = call(tmp_path, "checkpoint", "run")
    assert (refused.returncode, f"kill -CONT {pid}".encode() in refused.stderr) == (2, True)
    stopped = call(tmp_path, "stop", "run")
    assert stopped.stdout.startswith(f"run is suspended; continuing process {pid}".encode())
    assert b"run is stopped; saved at step" in stopped.stdout
    assert finish(run).returncode == 75
