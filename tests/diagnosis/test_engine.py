"""Ranking, what is added to every finding, and attempts that are not over."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Evidence, Finding, diagnose
from pitstop.diagnosis.engine import rank
from pitstop.events import (
    CheckpointFailed,
    CheckpointsSought,
    FitStarted,
    GangFormed,
    GangSaved,
    ResumeChosen,
)
from tests.diagnosis.attempts import (
    CONNECTED,
    FINISHED,
    NAN_AT_12,
    RAN_OUT_AT_15,
    STARTED,
    Case,
    advice_of,
    as_parameters,
    attempt_of,
    check,
    completed,
    exited,
    failed,
    finding_of,
    killed,
    log,
    printed,
    raised,
)

LOGS: list[Case] = [
    ("traceback", log(printed("MemoryError")), "host_alloc_failure"),
    ("the shell says Killed", log("5/20 loss: 0.3\nKilled\n"), "killed_from_outside"),
    ("Killed in the middle", log("Killed by me\nall fine again\n"), "unknown"),
    (
        "Slurm says OOM",
        log("slurmstepd: error: Detected 1 oom_kill event in StepId=7.0."),
        "host_oom_killed",
    ),
    ("EarlyStopping", log("Epoch 2: early stopping\n"), "early_stopping_or_callback_stop"),
    ("TerminateOnNaN", log("Batch 5: Invalid loss, terminating training\n"), "nan_loss"),
    ("NaN in the progress bar", log("20/20 - 1s - loss: nan\n"), "nan_loss"),
    ("faulthandler", log("Fatal Python error: Segmentation fault\n"), "native_crash"),
    ("nothing", log(""), "unknown"),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(LOGS))
def test_cause_from_nothing_but_a_log(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_a_running_attempt_has_no_finding() -> None:
    running = diagnose(attempt_of(STARTED, CONNECTED, FitStarted(0, 5, 20), live=True))
    assert running.state == "running"
    assert running.finding is None
    assert running.to_json()["cause"] is None


def test_the_specific_cause_hides_the_general_one() -> None:
    diagnosis = diagnose(completed(RAN_OUT_AT_15, *FINISHED))
    assert diagnosis.others == ()


def test_a_remark_stays_beside_the_cause() -> None:
    diagnosis = diagnose(failed(NAN_AT_12, killed()))
    assert [other.cause for other in diagnosis.others] == ["nan_loss"]


def test_rank_keeps_the_likeliest_of_each_cause() -> None:
    weak, strong = Finding("data_error", 0.4, "weak."), Finding("data_error", 0.8, "strong.")
    other = Finding("disk_full", 0.9, "full.")
    assert rank([weak, strong, other]) == [other, strong]


def test_an_unlikely_specific_cause_hides_nothing() -> None:
    general, unlikely = Finding("native_crash", 0.9, "a."), Finding("shm_exhausted", 0.4, "b.")
    assert rank([unlikely, general]) == [general, unlikely]


def test_what_to_do_ends_with_the_step_to_go_on_from() -> None:
    assert advice_of(failed(killed()))[-1] == (
        "Run the same command again: it resumes after step 40 (repeating 7 steps)."
    )
    assert advice_of(failed(raised("ValueError"), exited(1)))[-1].startswith("After that, run")


@pytest.mark.parametrize(("step", "is_common"), [(30, False), (40, True)])
def test_a_member_resumes_where_all_have_saved(step: int, *, is_common: bool) -> None:
    formed, saved = GangFormed("a-2", "worker 0", 2, "", ""), GangSaved("a-2", step, f"{step:08}")
    [*_, last] = advice_of(failed(formed, saved, killed()))
    assert last.startswith("Run the same command again: it resumes after step 40")
    assert last.endswith("or earlier if another member has not saved that step.") != is_common


def test_without_a_checkpoint_it_starts_anew() -> None:
    evidence = attempt_of(STARTED, CONNECTED, killed(), state="")
    assert advice_of(evidence)[-1].endswith("it starts over because no checkpoint was saved.")


@pytest.mark.parametrize(
    ("found", "told"),
    [
        (True, "it continues from the script's own checkpoints in /saved."),
        (False, "it continues from the script's own checkpoints in /saved if there are any, and "),
    ],
)
def test_what_the_script_itself_has_saved_is_not_lost(*, found: bool, told: str) -> None:
    sought = CheckpointsSought("/saved", found)
    evidence = attempt_of(STARTED, CONNECTED, sought, sought, killed(), state="")
    assert f"again: {told}" in advice_of(evidence)[-1]
    assert ("starts over otherwise" in advice_of(evidence)[-1]) != found


def test_all_folders_are_named_where_the_script_has_looked_for_checkpoints() -> None:
    sought = CheckpointsSought("/own", found=True), CheckpointsSought("/common", found=False)
    evidence = attempt_of(STARTED, CONNECTED, *sought, killed(), state="")
    assert advice_of(evidence)[-1].endswith("checkpoints in /own or /common.")


def test_a_completed_run_has_nothing_to_go_on_from() -> None:
    assert not any("goes on" in line for line in advice_of(completed(*FINISHED)))


def test_the_checkpoint_of_the_attempt_before_counts() -> None:
    chosen = ResumeChosen(30, 1, "checkpoints/00000030", "exact")
    diagnosis = diagnose(attempt_of(STARTED, chosen, exited(1)))
    assert diagnosis.checkpoint_step == 30


def test_a_script_that_never_connected_is_said_to_be_unseen() -> None:
    finding = finding_of(attempt_of(STARTED, exited(1), output=printed("KeyError: 1")))
    assert any("never connected" in text for text in finding.missing)


def test_a_checkpoint_that_failed_is_in_the_evidence() -> None:
    finding = finding_of(failed(CheckpointFailed(45, "disk full", ""), killed()))
    assert "saving step 45 failed: disk full" in [item.text for item in finding.evidence]


def test_what_was_looked_at() -> None:
    looked_at = diagnose(failed(killed(kernel_lines=None), output="x")).looked_at
    assert "memory cgroup" in looked_at
    assert "kernel log" not in looked_at


def test_unknown_quotes_the_last_output() -> None:
    evidence = failed(killed("SIGVTALRM"), output="alpha\nomega\n")
    check(evidence, "unknown")
    assert "alpha\nomega" in [item.text for item in finding_of(evidence).evidence]


def test_a_log_that_breaks_off_tells_where_the_training_stood() -> None:
    said = "Epoch 1/9\n50/50 [====] - 9s - loss: 0.9\nEpoch 2/9\n 7/50 [>...] - loss: 0.8\n"
    found = finding_of(log(said))
    assert found.cause == "unknown"
    assert found.summary.endswith("the log breaks off in epoch 2 of 9 (7 of 50).")
    assert any("nvidia-smi" in line for line in advice_of(log(said)))
    assert "breaks off" not in finding_of(log("one line\n")).summary


def test_a_log_that_breaks_off_within_a_traceback_says_so() -> None:
    found = finding_of(log('Traceback (most recent call last):\n  File "a.py", line 1, in f\n'))
    assert found.cause == "unknown"
    assert found.summary.endswith("the log breaks off within a traceback.")
