"""Losses that are no numbers: the cause only where they ended or spoiled the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.events import (
    CheckpointCommitted,
    ExitCalled,
    NonFiniteLocated,
    NonFiniteWeights,
    RolledBack,
    StopRequested,
    StopTrainingSet,
)
from pitstop.steps import has_grown
from tests.diagnosis.attempts import (
    FINISHED,
    NAN_AT_12,
    PLATEAU,
    STEP,
    STOPPED_CLEANLY,
    Case,
    advice_of,
    as_parameters,
    check,
    completed,
    epoch,
    exited,
    failed,
    finding_of,
    fit_ended,
    log,
    raised,
    stopped,
)

TF = "OpError Exception BaseException"
NAN_STOP = StopTrainingSet(12, 0, "TerminateOnNaN", "keras/x.py", 9, "on_train_batch_end")

CASES: list[Case] = [
    (
        "EarlyStopping because the loss is NaN",
        completed(NAN_AT_12, PLATEAU, fit_ended(3), exited(0)),
        "nan_loss",
    ),
    ("TerminateOnNaN", completed(NAN_AT_12, NAN_STOP, fit_ended(1), exited(0)), "nan_loss"),
    (
        "TerminateOnNaN(raise_error=True)",
        failed(
            raised("RuntimeError", "NaN or Inf loss encountered at batch 5. Loss value: nan."),
            exited(1),
        ),
        "nan_loss",
    ),
    (
        "check_numerics",
        failed(raised("InvalidArgumentError", "Tensor had NaN values [Op:CheckNumericsV2]", TF)),
        "nan_loss",
    ),
    (
        "a callback that gives up in the step of the bad loss",
        failed(replace(NAN_AT_12, step=STEP), raised("RuntimeError", callback="Guard"), exited(1)),
        "nan_loss",
    ),
    (
        "a script that gives up later, and says for what",
        failed(NAN_AT_12, raised("RuntimeError", "training diverged, giving up"), exited(1)),
        "nan_loss",
    ),
    (
        "a script that fails later, of something else",
        failed(NAN_AT_12, raised("KeyError", "'accuracy'"), exited(1)),
        "user_code_error",
    ),
    (
        "a disk that is full in the step of the bad loss",
        failed(replace(NAN_AT_12, step=STEP), raised("OSError", "[Errno 28] No space left")),
        "disk_full",
    ),
    (
        "sys.exit in the step of the bad loss",
        failed(
            replace(NAN_AT_12, step=STEP),
            ExitCalled("sys.exit", "3", "train.py", 9, "check"),
            exited(3),
        ),
        "nan_loss",
    ),
    ("NaN to the end", completed(NAN_AT_12, *FINISHED), "nan_loss"),
    ("infinite loss in the logs", completed(epoch(1, loss=float("inf")), *FINISHED), "nan_loss"),
    (
        "NaN, then stopped by the user",
        stopped(NAN_AT_12, StopRequested("command", "graceful"), *STOPPED_CLEANLY),
        "stop_requested",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_the_first_bad_step_and_the_last_good_value_are_told() -> None:
    finding = finding_of(completed(NAN_AT_12, *FINISHED))
    assert "became nan at step 12; the" in finding.summary
    assert "its last finite value was 0.7" in [item.text for item in finding.evidence]


def test_a_loss_that_grew_first_points_to_the_learning_rate() -> None:
    grown = completed(replace(NAN_AT_12, last_finite=3e9), *FINISHED)
    sudden = completed(NAN_AT_12, *FINISHED)
    assert "learning rate" in advice_without_checkpoint(grown)[0]
    assert "batch 12 of epoch 1" in advice_without_checkpoint(sudden)[0]


GROWING = [0.7, 0.9, 31.0, 2e4, 9e9]


@pytest.mark.parametrize(
    ("losses", "grown"),
    [
        (GROWING, True),
        ([2.3, 2.2, 2.1, 2.0, 1.9], False),
        ([0.5, 0.5, 3.0, 0.5, 0.6], False),
        ([8.0, 1.0, 0.2, 0.1, 0.15], False),
        ([9e9, 1e9, 1e8, 1e7, 1e6], False),
        ([1.0, 40.0], False),
        ([0.0, 0.0, 0.0, 1e-4, 0.01], False),
        ([1.0, 4e4], True),
        ([], False),
    ],
)
def test_whether_a_loss_grew(losses: list[float], grown: bool) -> None:
    assert has_grown(losses, losses[-1] if losses else None) is grown


def test_the_rate_that_was_too_high_is_in_the_advice() -> None:
    bad = replace(NAN_AT_12, last_finite=9e9, recent=GROWING, learning_rate=0.5)
    finding = finding_of(completed(bad, *FINISHED))
    assert "Lower the learning rate: 0.5 now, try 0.05" in finding.advice[1]
    assert "it grew from step to step: 0.7, 0.9, 31, 2e+04, 9e+09, then nan" in [
        item.text for item in finding.evidence
    ]


def test_a_step_that_was_run_again_tells_what_was_bad_first() -> None:
    located = NonFiniteLocated(12, "input", "x[0]", ["3 of 512 values are NaN, first in row 5"])
    finding = finding_of(completed(NAN_AT_12, *FINISHED, located))
    texts = [item.text for item in finding.evidence]
    assert "step 12 again: the batch itself contains bad values (x[0])" in texts
    assert "3 of 512 values are NaN, first in row 5" in texts
    assert finding.advice[1].startswith("Fix these rows")
    assert not any("find-nan" in line for line in finding.advice)


def test_a_step_that_was_not_run_again_can_be() -> None:
    lines = advice_of(completed(NAN_AT_12, *FINISHED))
    assert any("`pitstop find-nan RUN` repeats step 12" in line for line in lines)


def test_a_checkpoint_from_before_the_bad_step_is_not_warned_of() -> None:
    early = CheckpointCommitted(10, 0, "checkpoints/00000010", 1, 0.1, "cadence")
    late = replace(early, step=20)
    assert not any("--run-dir" in line for line in advice_of(completed(early, NAN_AT_12)))
    assert "step 20 was saved after the loss became bad" in advice_of(completed(NAN_AT_12, late))[0]


def test_nan_in_a_bare_log_is_no_certain_end() -> None:
    assert finding_of(log("20/20 - 1s - loss: nan\n")).confidence < 0.5


def advice_without_checkpoint(evidence: Evidence) -> list[str]:
    return [line for line in advice_of(evidence) if "--run-dir" not in line]


def test_nobody_is_sent_back_to_weights_from_after_the_bad_step() -> None:
    late = CheckpointCommitted(20, 0, "checkpoints/00000020", 1, 0.1, "cadence")
    evidence = failed(NAN_AT_12, late, raised("DataLossError", "corrupted record"), exited(1))
    assert "start over" in advice_of(evidence)[-1]
    assert not any("it resumes after" in line for line in advice_of(evidence))
    back = RolledBack("loss", 12, "checkpoints/00000010", 10, "skip", 1, 10)
    assert not any("start over" in line for line in advice_of(completed(NAN_AT_12, back, late)))


def test_the_exit_of_a_stop_for_a_rollback_is_no_exit_of_the_script() -> None:
    ended = (StopRequested("nan", "graceful"), *STOPPED_CLEANLY)
    assert [each.cause for each in diagnose(stopped(NAN_AT_12, *ended)).others] == []


def test_a_guard_that_says_that_it_diverged_does_not_hide_what_was_seen() -> None:
    bad = replace(NAN_AT_12, step=STEP, learning_rate=1e30)
    gave_up = raised("RuntimeError", "training diverged, giving up", callback="Guard")
    finding = finding_of(failed(bad, gave_up, exited(1)))
    assert finding.confidence > 0.9
    assert any("1e+30 now" in line for line in finding.advice)


def test_the_operation_that_made_the_number_is_told() -> None:
    frames = '  File "/app/train.py", line 10, in <module>\n\n'
    said = (
        f"Graph execution error:\n\nDetected at node Log/CheckNumericsV2 defined at:\n{frames}"
        'Detected Infinity or NaN in output 0 of graph op "Log"'
    )
    finding = finding_of(failed(raised("InvalidArgumentError", said, TF), exited(1)))
    assert "output 0 of graph op" in " ".join(item.text for item in finding.evidence)


@pytest.mark.parametrize(("finite", "words"), [(-1, "from 1 to 16"), (8, "from 9 to 16")])
def test_bad_weights_under_a_good_loss_can_be_looked_for(finite: int, words: str) -> None:
    bad = NonFiniteWeights(16, ["dense/kernel"], finite)
    assert any(words in line for line in advice_of(completed(bad, *FINISHED)))
