"""A last save that does not end: it is waited for, until somebody says that it need not be."""

from __future__ import annotations

import signal
import sys
from pathlib import Path

from pitstop.events import AttemptEnded, CheckpointCommitted, Notice, TrainerExited
from tests.integration.supervisor.launch import (
    TRAINER,
    call,
    events,
    finish,
    last,
    persister_among,
    processes_in,
    start,
    until,
    until_line,
)


def _said(folder: Path, code: str) -> bool:
    return code in {notice.code for notice in events(folder, Notice)}


def test_a_second_stop_leaves_it_to_its_process(tmp_path: Path) -> None:
    command = (sys.executable, TRAINER)
    run = start(tmp_path, "run", "--run-dir", "run", "--grace", "1s", "--", *command)
    until_line(run, b"step 5\n")
    persister = persister_among(processes_in(tmp_path))
    persister.suspend()  # as a disk would that does not answer
    run.send_signal(signal.SIGINT)
    until(lambda: _said(tmp_path, "save_takes_long"))
    assert last(tmp_path, TrainerExited).exit_code == 75
    run.send_signal(signal.SIGINT)
    ended = finish(run)
    assert ended.returncode == 75
    assert b"The last save is not finished" in ended.stderr
    assert last(tmp_path, AttemptEnded).state == "stopped"

    persister.resume()
    until(lambda: not processes_in(tmp_path))
    saved = last(tmp_path, CheckpointCommitted)
    assert saved.step == last(tmp_path, TrainerExited).step
    assert call(tmp_path, "checkpoints", "run", "verify").returncode == 0
