"""Losses that are no numbers: the cause only where they ended or spoiled the run."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence
from pitstop.events import CheckpointCommitted, StopRequested, StopTrainingSet
from tests.diagnosis.attempts import (
    FINISHED,
    NAN_AT_12,
    PLATEAU,
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
    assert "became nan at step 12 (epoch 1, batch 12)" in finding.summary
    assert "its last finite value was 0.7" in [item.text for item in finding.evidence]


def test_a_loss_that_grew_first_points_to_the_learning_rate() -> None:
    grown = completed(replace(NAN_AT_12, last_finite=3e9), *FINISHED)
    sudden = completed(NAN_AT_12, *FINISHED)
    assert "learning rate" in advice_without_checkpoint(grown)[0]
    assert "batch of that step" in advice_without_checkpoint(sudden)[0]


def test_a_checkpoint_from_before_the_bad_step_is_not_warned_of() -> None:
    early = CheckpointCommitted(10, 0, "checkpoints/00000010", 1, 0.1, "cadence")
    late = replace(early, step=20)
    assert not any("--run-dir" in line for line in advice_of(completed(early, NAN_AT_12)))
    assert "step 20 was taken after the loss went bad" in advice_of(completed(NAN_AT_12, late))[0]


def test_nan_in_a_bare_log_is_no_certain_end() -> None:
    assert finding_of(log("20/20 - 1s - loss: nan\n")).confidence < 0.5


def advice_without_checkpoint(evidence: Evidence) -> list[str]:
    return [line for line in advice_of(evidence) if "--run-dir" not in line]
