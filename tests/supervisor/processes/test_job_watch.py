"""The scheduler is asked at the end, by real commands, and never waited for long."""

from __future__ import annotations

import os
import select
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from pitstop.events import AttemptEnded, JobState, TrainerExited
from pitstop.supervisor.processes import job_watch
from pitstop.supervisor.processes.job_watch import JobWatch

EXITED = TrainerExited(None, "SIGTERM", 7, 0, 7, "train", 0.1)
ENDED = AttemptEnded(1, "failed", 143, 7, None)


def install(folder: Path, name: str, script: str) -> None:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)


def watch(folder: Path, **environment: str) -> JobWatch:
    return JobWatch({"PATH": f"{folder}:/bin:/usr/bin", "SLURM_JOB_ID": "7", **environment})


@pytest.fixture
def collect_children() -> Callable[[], None]:
    """What the supervision's loop does with the commands of a test.

    Other children stay: a forking interpreter of other tests lives as long as they all.
    """
    before = set(psutil.Process().children())

    def collect() -> None:
        for each in set(psutil.Process().children()) - before:
            os.waitpid(each.pid, 0)

    return collect


def _ended(pid: int) -> bool:
    """Whether a process has ended; the kernel takes a moment to end one that was killed."""
    try:
        fd = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    ready, _, _ = select.select([fd], [], [], 10.0)
    os.close(fd)
    return bool(ready)


def test_the_one_that_knows_the_end_is_believed(
    tmp_path: Path, collect_children: Callable[[], None]
) -> None:
    install(tmp_path, "sacct", "echo 'RUNNING|None'")
    install(tmp_path, "scontrol", "echo 'JobId=7 JobState=COMPLETING Reason=TimeLimit'")
    job = watch(tmp_path)
    assert job.heard(EXITED) is None
    told = job.heard(ENDED)
    collect_children()
    assert told is not None
    assert (told.state, told.reason, told.problem) == ("COMPLETING", "TimeLimit", "")
    assert len(told.asked) == 2


def test_without_the_commands_the_lack_is_told(tmp_path: Path) -> None:
    job = JobWatch({"PATH": str(tmp_path), "SLURM_JOB_ID": "7"})
    job.heard(EXITED)
    assert job.heard(ENDED) == JobState(
        "slurm", "7", problem="no sacct or scontrol on this machine"
    )


def test_a_command_that_hangs_is_ended(
    tmp_path: Path, collect_children: Callable[[], None]
) -> None:
    install(tmp_path, "sacct", "exec sleep 600")
    job = watch(tmp_path)
    job.heard(EXITED)
    told = job.heard(ENDED)
    collect_children()
    assert told is not None
    assert told.problem == "sacct and scontrol did not answer"


def test_a_command_that_never_stops_printing_is_ended(
    tmp_path: Path, collect_children: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_watch, "PATIENCE_SECONDS", 0.2)
    install(tmp_path, "sacct", "exec yes")
    job = watch(tmp_path)
    job.heard(EXITED)
    told = job.heard(ENDED)
    collect_children()
    assert told is not None


def test_what_a_command_leaves_behind_is_ended_after_it_was_collected(
    tmp_path: Path, collect_children: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_watch, "PATIENCE_SECONDS", 0.2)
    left_behind = tmp_path / "left-behind"
    install(tmp_path, "sacct", f"sleep 60 & echo $! > {left_behind}; echo 'TIMEOUT|None'")
    job = watch(tmp_path)
    job.heard(EXITED)
    collect_children()
    told = job.heard(ENDED)
    assert told is not None
    assert told.state == "TIMEOUT"
    assert _ended(int(left_behind.read_text()))


def test_an_answer_that_was_there_in_time_is_heard_late(
    tmp_path: Path, collect_children: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_watch, "PATIENCE_SECONDS", 0.0)
    install(tmp_path, "sacct", "echo 'TIMEOUT|None'")
    job = watch(tmp_path)
    job.heard(EXITED)
    collect_children()
    told = job.heard(ENDED)
    assert told is not None
    assert told.state == "TIMEOUT"


def test_a_run_that_went_well_asks_nobody(tmp_path: Path) -> None:
    install(tmp_path, "sacct", f"touch {tmp_path}/asked")
    job = watch(tmp_path)
    job.heard(TrainerExited(0, "", 7, 0, 7, "ended", 0.1))
    assert job.heard(ENDED) is None
    assert not (tmp_path / "asked").exists()


@pytest.mark.parametrize("environment", [{}, {"COLAB_RELEASE_TAG": "r"}])
def test_where_there_is_nothing_to_ask_nothing_is_told(environment: dict[str, str]) -> None:
    job = JobWatch(environment)
    job.heard(EXITED)
    assert job.heard(ENDED) is None
