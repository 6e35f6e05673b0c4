"""The end of a Slurm job, from a Slurm that does not set the variable for it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from pitstop.supervisor.stops.stop_sources import asked_end


def _squeue(folder: Path, text: str) -> dict[str, str]:
    program = folder / "squeue"
    program.write_text(f"#!/bin/sh\n{text}\n")
    program.chmod(0o755)
    return {"SLURM_JOB_ID": "7", "PATH": f"{folder}:{os.environ['PATH']}"}


def test_the_scheduler_is_asked_for_this_job(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = _squeue(tmp_path, '[ "$3 $SLURM_TIME_FORMAT" = "7 %s" ] && echo 1764003600')
    monkeypatch.setenv("PATH", job["PATH"])
    assert asked_end(job) == "1764003600"
    assert asked_end(job | {"SLURM_JOB_END_TIME": "1764000000"}) == ""
    assert asked_end({"PATH": job["PATH"]}) == ""


@pytest.mark.parametrize("text", ["echo UNLIMITED", "echo N/A", "exit 1", "echo -5"])
def test_an_answer_that_is_no_time_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    job = _squeue(tmp_path, text)
    monkeypatch.setenv("PATH", job["PATH"])
    assert asked_end(job) == ""


def test_a_machine_without_the_command_knows_no_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert asked_end({"SLURM_JOB_ID": "7", "PATH": str(tmp_path)}) == ""
