"""What Pitstop itself says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.events import (
    CheckpointFailed,
    EpochEnded,
    Event,
    FitEnded,
    InstrumentationUnavailable,
    LevelKnown,
    MemberReleased,
    Notice,
    Restored,
    RoleTaken,
    StopRequested,
)
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.notices import final_lines, level_text, line_for

_RUN = Path("runs/a")


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (
            Restored(1234, 2, 34, "exact", "", 0.5, 0),
            "resuming at step 1234 (epoch 3, step 34): exact",
        ),
        (
            Restored(5, 0, 5, "not_exact", "a generator", 0.5, 0),
            "resuming at step 5: not exact: a generator",
        ),
        (StopRequested("signal", "graceful"), "stopping (press Ctrl-C again to stop immediately)."),
        (StopRequested("setting", "graceful"), "stopping at the step that --halt-at-step set."),
        (
            StopRequested("signal", "now"),
            "stopping immediately, at the last snapshot if there is one.",
        ),
        (
            StopRequested("file", "graceful"),
            "stopping, as the file stop in the run folder requests.",
        ),
        (
            StopRequested("script", "graceful", reason="good enough"),
            "stopping, as the script requests: good enough.",
        ),
        (
            StopRequested("time_limit", "graceful", reason="9.0 s left of 1h00m (Slurm)"),
            "stopping, the time limit is near: 9.0 s left of 1h00m (Slurm).",
        ),
        (LevelKnown("exact"), ""),
        (
            LevelKnown("not_exact", "a generator"),
            "a resume of this run will not be exact: a generator",
        ),
        (
            LevelKnown("not_exact", "other weights", has_deviated=True),
            "this run is not exact: other weights",
        ),
        (
            CheckpointFailed(7, "The disk is full.", "Free some."),
            "step 7 could not be saved: The disk is full. Free some. Training continues.",
        ),
        (InstrumentationUnavailable("Keras 2."), "nothing can be saved in this attempt: Keras 2."),
        (Notice("x", "A thing.", "Do this."), "A thing. Do this."),
        (FitEnded(0, 1, 1, 1), ""),
    ],
)
def test_lines(event: Event, line: str) -> None:
    assert line_for(event) == line


def test_completed_run_says_where_it_is_and_what_it_came_to() -> None:
    [line] = final_lines(State.COMPLETED, 0, AttemptState(), _RUN, 65.0)
    assert line == f"complete after 1 min 5 s; the run is {_RUN}."
    epoch = EpochEnded(0, 2, 5, 5, {"loss": 0.51234, "val_loss": 1.5})
    [line] = final_lines(State.COMPLETED, 0, AttemptState(last_epoch=epoch), _RUN, 1.0)
    assert ": epoch 3, loss 0.5123, val_loss 1.5;" in line


def test_a_fit_that_did_not_return_is_told_at_the_end_of_a_completed_run() -> None:
    [line] = final_lines(State.COMPLETED, 0, AttemptState(trains=True), _RUN, 1.0)
    assert "exit code 0, though model.fit did not return (`pitstop why" in line


def test_stopped_run_says_where_it_goes_on() -> None:
    [line] = final_lines(State.STOPPED, 75, AttemptState(checkpoint_step=9, checkpoint="9"), _RUN)
    assert "saved at step 9; run the same command again" in line
    worker = AttemptState(role=RoleTaken("monitored_session", 7), trainer_stopped=True)
    [line] = final_lines(State.STOPPED, 75, worker, _RUN)
    assert "its chief saves the training; run all members again" in line


def test_a_member_that_ended_because_of_its_leader_says_so() -> None:
    worker = AttemptState(
        role=RoleTaken("monitored_session", 7),
        released=MemberReleased("worker 0", "lost", 75, "it did not answer for 30 s"),
    )
    [line] = final_lines(State.STOPPED, 75, worker, _RUN)
    assert line.endswith("because worker 0 has ended.")
    late = AttemptState(released=MemberReleased("worker 0", "completed", 0, ""))
    [line] = final_lines(State.FAILED, 2, late, _RUN)
    assert "worker 0 had completed: only --new trains again" in line


def test_failed_run_names_the_code_and_the_next_command() -> None:
    refused = AttemptState(checkpoint_step=9, checkpoint="9", rollback_refused=True)
    for state in (State.STOPPED, State.COMPLETED, State.FAILED):
        [line] = final_lines(state, 1, refused, _RUN)
        assert "would fail the same way" in line
        assert "to resume" not in line
    lines = final_lines(State.FAILED, 137, AttemptState(), _RUN)
    assert "exit code 137; nothing was saved" in lines[0]
    assert f"pitstop why {_RUN}" in lines[1]


def test_refused_resume_is_no_failure_of_the_script() -> None:
    attempt_state = AttemptState(checkpoint_step=26, checkpoint="26", resume_refused=True)
    released = MemberReleased("worker 0", "failed", 2, "it failed with exit code 2")
    for each in (attempt_state, replace(attempt_state, released=released)):
        [line] = final_lines(State.FAILED, 2, each, _RUN)
        assert (
            line == f"the run was not resumed; saved at step 26 as before (`pitstop why {_RUN}`)."
        )


def test_reason_is_only_needed_where_a_resume_is_not_exact() -> None:
    assert level_text("exact_by_replay", "slow") == "exact by replay"
    assert level_text("not_exact", "slow") == "not exact: slow"
