"""Restarts with real processes: what is retried, when it is enough, and how a wait is ended."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    AttemptStarted,
    RestartCancelled,
    RestartPlanned,
    RestartRefused,
    StopRequested,
)
from tests.integration.supervisor.launch import (
    TRAINER,
    call,
    events,
    finish,
    last,
    processes_in,
    run_script,
    start,
    until,
)

_DIES = "import os\nos.kill(os.getpid(), 9)\n"


def _train(folder: Path, restarts: int, *options: object) -> subprocess.Popen[bytes]:
    words = ["run", "--run-dir", "run", "--restarts", restarts, "--"]
    return start(folder, *words, sys.executable, TRAINER, *options)


def _waiting(folder: Path, count: int) -> bool:
    """Whether the run waits for its restart of this number."""
    made = (folder / "run" / "journal.jsonl").exists()
    return made and len(events(folder, RestartPlanned)) >= count


def test_a_killed_trainer_goes_on_by_itself(tmp_path: Path) -> None:
    ended = finish(_train(tmp_path, 2, "--steps", 40, "--die-at", 25))
    planned = last(tmp_path, RestartPlanned)
    assert ended.returncode == 0, ended.stderr
    assert b"restored [25]" in ended.stdout
    assert (planned.cause, planned.restart, planned.restarts) == ("killed_from_outside", 1, 2)
    assert [each.state for each in events(tmp_path, AttemptEnded)] == ["failed", "completed"]
    assert [each.attempt for each in events(tmp_path, AttemptStarted)] == [1, 2]
    assert b"restart 1 of 2 at once" in ended.stderr
    assert processes_in(tmp_path) == []


def test_without_restarts_there_is_one_attempt(tmp_path: Path) -> None:
    ended = finish(run_script(tmp_path, _DIES))
    assert ended.returncode == 137
    assert len(events(tmp_path, AttemptEnded)) == 1
    assert events(tmp_path, RestartRefused) == []


def test_when_all_are_used_up_the_exit_code_is_the_scripts(tmp_path: Path) -> None:
    ended = finish(run_script(tmp_path, _DIES, "--restarts", 1))
    assert ended.returncode == 137
    assert len(events(tmp_path, AttemptEnded)) == 2
    assert "no restarts left (1 used)" in last(tmp_path, RestartRefused).reason


@pytest.mark.parametrize(
    ("script", "cause"),
    [
        ("import no_such_module", "dependency_or_import_error"),
        ("raise ValueError('boom')", "user_code_error"),
    ],
)
def test_what_would_come_back_is_not_tried_again(tmp_path: Path, script: str, cause: str) -> None:
    ended = finish(run_script(tmp_path, script, "--restarts", 5))
    assert ended.returncode == 1
    assert len(events(tmp_path, AttemptEnded)) == 1
    assert last(tmp_path, RestartRefused).cause == cause
    assert b"not restarted" in ended.stderr


def test_a_server_of_files_that_went_away_is_tried_again(tmp_path: Path) -> None:
    script = (
        "import os\n"
        "if not os.path.exists('mended'):\n"
        "    os.mkdir('mended')\n"
        "    raise OSError(116, 'Stale file handle', 'rows')\n"
    )
    ended = finish(run_script(tmp_path, script, "--restarts", 5))
    assert ended.returncode == 0, ended.stderr
    assert last(tmp_path, RestartPlanned).cause == "network_or_download_failure"
    assert len(events(tmp_path, AttemptEnded)) == 2


def test_a_crash_at_the_same_step_is_tried_once_more_only(tmp_path: Path) -> None:
    crash = "import ctypes\nctypes.string_at(0)\n"
    ended = finish(run_script(tmp_path, crash, "--restarts", 9))
    assert ended.returncode == 139
    assert len(events(tmp_path, AttemptEnded)) == 2
    assert last(tmp_path, RestartRefused).reason.startswith("native_crash twice in a row")


def test_a_completed_run_is_not_started_again(tmp_path: Path) -> None:
    assert finish(run_script(tmp_path, "print('done')", "--restarts", 3)).returncode == 0
    assert len(events(tmp_path, AttemptEnded)) == 1


def test_a_stopped_run_is_not_started_again(tmp_path: Path) -> None:
    ended = finish(_train(tmp_path, 3, "--asks-at", 5))
    assert ended.returncode == 75
    assert len(events(tmp_path, AttemptEnded)) == 1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_during_the_wait_ends_it_at_once(tmp_path: Path, number: signal.Signals) -> None:
    run = run_script(tmp_path, _DIES, "--restarts", 5)
    # The waits grow: the fourth is four to eight seconds long.
    until(lambda: _waiting(tmp_path, 4))
    run.send_signal(number)
    ended = finish(run)
    cancelled = last(tmp_path, RestartCancelled)
    assert ended.returncode == 75
    assert (cancelled.source, cancelled.signal) == ("signal", number.name)
    assert len(events(tmp_path, AttemptStarted)) == 4
    assert events(tmp_path, StopRequested) == []
    assert b"stopped while waiting to restart" in ended.stderr


def test_pitstop_stop_and_the_file_end_a_wait_and_status_answers(tmp_path: Path) -> None:
    run = run_script(tmp_path, _DIES, "--restarts", 5)
    until(lambda: _waiting(tmp_path, 4))
    status = json.loads(call(tmp_path, "status", "run", "--json").stdout)
    assert (status["state"], status["phase"], status["attempt"]) == ("starting", "waiting", 4)
    assert (status["restarts"], status["restarts_left"]) == (5, 1)
    assert call(tmp_path, "stop", "run").returncode == 0
    assert finish(run).returncode == 75
    assert last(tmp_path, RestartCancelled).source == "command"

    run = run_script(tmp_path, _DIES, "--restarts", 5)
    until(lambda: _waiting(tmp_path, 8))
    (tmp_path / "run" / "stop").write_text("enough\n")
    assert finish(run).returncode == 75
    assert last(tmp_path, RestartCancelled).reason == "enough"


def test_the_time_limit_covers_all_attempts(tmp_path: Path) -> None:
    ended = finish(run_script(tmp_path, _DIES, "--restarts", 9, "--max-time", "8s"))
    assert ended.returncode == 75
    assert last(tmp_path, RestartCancelled).source == "time_limit"


def test_restarts_after_a_hang_need_a_number_of_them(tmp_path: Path) -> None:
    ended = finish(run_script(tmp_path, "pass", "--on-hang", "restart"))
    assert ended.returncode == 2
    assert b"--restarts 3" in ended.stderr
    assert not (tmp_path / "run").exists()
