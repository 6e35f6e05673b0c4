"""A process that speaks the trainer's protocol, supervised for real."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    CheckpointCommitted,
    EnvironmentChanged,
    Restored,
    ResumeChosen,
    StopDeadlinePassed,
    StopRequested,
    TrainerConnected,
    TrainerExited,
)
from tests.integration.supervisor.launch import (
    call,
    events,
    finish,
    last,
    persister_among,
    processes_in,
    run_trainer,
    status,
    until,
    until_line,
)


def test_stop_saves_the_last_step_and_resume_goes_on_behind_it(tmp_path: Path) -> None:
    run = run_trainer(tmp_path)
    until_line(run, b"step 20")
    answer = call(tmp_path, "stop", "run")
    ended = finish(run)
    stopped_at = last(tmp_path, AttemptEnded)
    assert ended.returncode == 75
    assert f"saved at step {stopped_at.step}" in answer.stdout.decode()
    assert stopped_at.checkpoint_step == stopped_at.step
    assert last(tmp_path, StopRequested).source == "command"
    assert processes_in(tmp_path) == []

    again = run_trainer(tmp_path, "--steps", stopped_at.step + 3)
    done = finish(again)
    assert done.returncode == 0
    assert done.stdout.split(b"\n")[1] == b"step %d" % (stopped_at.step + 1)
    assert last(tmp_path, ResumeChosen).step == stopped_at.step
    assert last(tmp_path, Restored).lost_steps == 0
    assert b"resuming at step %d" % stopped_at.step in done.stderr


def test_killed_trainer_leaves_its_newest_snapshot(tmp_path: Path) -> None:
    run = run_trainer(tmp_path, "--die-at", 7)
    ended = finish(run)
    committed = last(tmp_path, CheckpointCommitted)
    assert ended.returncode == 128 + signal.SIGKILL
    assert (committed.step, committed.reason) == (7, "trainer_lost")
    assert last(tmp_path, TrainerExited).signal == "SIGKILL"
    assert last(tmp_path, AttemptEnded).state == "failed"
    assert b"saved at step 7" in ended.stderr


def test_second_interrupt_ends_a_trainer_that_does_not_listen(tmp_path: Path) -> None:
    run = run_trainer(tmp_path, "--deaf", "--phase", "VALIDATION")
    until_line(run, b"step 3")
    run.send_signal(signal.SIGINT)
    until(lambda: events(tmp_path, StopRequested))
    run.send_signal(signal.SIGINT)
    ended = finish(run)
    urgencies = [each.urgency for each in events(tmp_path, StopRequested)]
    exited = last(tmp_path, TrainerExited)
    assert ended.returncode == 75
    assert urgencies == ["graceful", "now"]
    # It may have been ended between a step and the snapshot of it.
    assert last(tmp_path, AttemptEnded).checkpoint_step in (exited.step, exited.step - 1)


def test_trainer_that_misses_the_deadline_is_ended(tmp_path: Path) -> None:
    run = run_trainer(tmp_path, "--deaf", "--phase", "FIRST_STEP", "--step-seconds", 60)
    until(lambda: _phase(tmp_path) == "first_step")
    run.send_signal(signal.SIGTERM)
    ended = finish(run)
    assert ended.returncode == 75
    assert last(tmp_path, StopDeadlinePassed).phase == "first_step"


def _phase(folder: Path) -> str:
    return str(status(folder)["phase"]) if (folder / "run" / "run.json").exists() else ""


def test_status_and_checkpoint_of_a_live_run(tmp_path: Path) -> None:
    run = run_trainer(tmp_path, "--steps", 500, "--step-seconds", 0.02)
    until_line(run, b"step 5\n")
    answer = call(tmp_path, "checkpoint", "run")
    now = status(tmp_path)
    call(tmp_path, "stop", "run")
    finish(run)
    assert answer.returncode == 0
    assert answer.stdout.startswith(b"saved step ")
    assert now["state"] == "running"
    assert now["checkpoint_step"] >= 5
    assert now["step"] >= now["checkpoint_step"]
    assert now["rate"] == pytest.approx(50)
    assert now["pid"] == last(tmp_path, TrainerConnected).pid
    assert now["snapshot_memory_bytes"] > 0


def test_another_run_in_the_same_folder_is_refused_with_the_pid(tmp_path: Path) -> None:
    run = run_trainer(tmp_path)
    until_line(run, b"step 1")
    refused = finish(run_trainer(tmp_path))
    call(tmp_path, "stop", "run")
    finish(run)
    assert refused.returncode == 2
    assert f"process {run.pid}".encode() in refused.stderr


def test_changes_since_the_last_attempt_are_said_aloud(tmp_path: Path) -> None:
    finish(run_trainer(tmp_path, "--die-at", 3, SAMPLE_VERSION="1.0"))
    ended = finish(run_trainer(tmp_path, "--steps", 5, SAMPLE_VERSION="2.0", OMP_NUM_THREADS="1"))
    changed = {event.what for event in events(tmp_path, EnvironmentChanged)}
    assert {"TensorFlow's version", "variable OMP_NUM_THREADS"} <= changed
    assert b"TensorFlow's version has changed" in ended.stderr


def test_damaged_checkpoint_falls_back_to_the_one_before(tmp_path: Path) -> None:
    finish(run_trainer(tmp_path, "--die-at", 4))
    finish(run_trainer(tmp_path, "--die-at", 9))
    newest = tmp_path / "run" / "checkpoints" / "00000009" / "tensors.safetensors"
    data = bytearray(newest.read_bytes())
    data[-1] ^= 1
    newest.write_bytes(data)
    verified = call(tmp_path, "checkpoints", "run", "verify", "--json")
    ended = finish(run_trainer(tmp_path, "--steps", 10))
    problems = [row["problem"] for row in json.loads(verified.stdout)]
    assert verified.returncode == 1
    assert "checksum" in problems[0]
    assert problems[1] == ""
    assert last(tmp_path, Restored).step == 4
    assert last(tmp_path, Restored).lost_steps == 5
    assert b"set aside" in ended.stderr


def test_supervisor_killed_leaves_a_saved_run_that_can_go_on(tmp_path: Path) -> None:
    run = run_trainer(tmp_path)
    until_line(run, b"step 10")
    run.kill()
    finish(run)
    until(lambda: not processes_in(tmp_path))
    saved = last(tmp_path, CheckpointCommitted)
    assert saved.step >= 10
    stored = status(tmp_path)
    assert stored["state"] == "failed"
    done = finish(run_trainer(tmp_path, "--steps", saved.step + 2))
    assert done.returncode == 0
    assert last(tmp_path, Restored).step == saved.step


def test_persister_killed_is_replaced(tmp_path: Path) -> None:
    run = run_trainer(tmp_path)
    until_line(run, b"step 5\n")
    persister_among(processes_in(tmp_path)).kill()
    answer = call(tmp_path, "checkpoint", "run")
    call(tmp_path, "stop", "run")
    ended = finish(run)
    end = last(tmp_path, AttemptEnded)
    assert answer.returncode == 0, answer.stderr
    assert ended.returncode == 75
    assert end.checkpoint_step == end.step


def test_ends_of_earlier_fits_are_restored_before_the_newest(tmp_path: Path) -> None:
    options = ["--fit-ends-at", 3, 6, "--step-seconds", 0.2]
    finish(run_trainer(tmp_path, *options, "--die-at", 8))
    resumed = finish(run_trainer(tmp_path, *options, "--steps", 9))
    assert resumed.stdout.startswith(b"restored [3, 6, 8]\nstep 9\n")
    assert [each.reason for each in events(tmp_path, CheckpointCommitted)][:2] == ["fit_end"] * 2
