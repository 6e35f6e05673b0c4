"""Ends without an error, which leave no trace in the exit code."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.events import (
    ExitCalled,
    FitEnded,
    FitLeft,
    FitStarted,
    InputExhausted,
    Restored,
    ScriptEnded,
    StopTrainingSet,
    TrainerExited,
)
from tests.diagnosis.attempts import (
    CONNECTED,
    FINISHED,
    PLATEAU,
    RAN_OUT_AT_15,
    STARTED,
    Case,
    advice_of,
    as_parameters,
    attempt_of,
    check,
    completed,
    early_stopping,
    epoch,
    exited,
    failed,
    finding_of,
    fit_ended,
    killed,
    printed,
    raised,
)

OWN_STOP = StopTrainingSet(30, 1, "Budget", "train.py", 17, "on_train_batch_end")

CASES: list[Case] = [
    (
        "EarlyStopping",
        completed(epoch(2), PLATEAU, fit_ended(3), exited(0)),
        "early_stopping_or_callback_stop",
    ),
    (
        "EarlyStopping in the last epoch",
        completed(early_stopping(4, monitor="val_loss"), *FINISHED),
        "completed_normally",
    ),
    (
        "own callback stops",
        completed(OWN_STOP, fit_ended(2), exited(0)),
        "early_stopping_or_callback_stop",
    ),
    (
        "EarlyStopping, and then the script fails",
        failed(PLATEAU, fit_ended(3), raised("KeyError", "'a'", "LookupError"), exited(1)),
        "user_code_error",
    ),
    ("short epochs (Keras 3)", completed(RAN_OUT_AT_15, *FINISHED), "dataset_exhausted"),
    (
        "short epochs seen by their length only",
        completed(epoch(0, 20), epoch(1, 7), *FINISHED),
        "dataset_exhausted",
    ),
    (
        "fit ended early (Keras 2)",
        completed(
            fit_ended(1),
            exited(0),
            output="WARNING:tensorflow:Your input ran out of data; interrupting training. Make "
            "sure that your dataset or generator can generate at least "
            "`steps_per_epoch * epochs` batches (in this case, 100 batches).",
        ),
        "dataset_exhausted",
    ),
    (
        "an input without a batch, of unknown length",
        completed(epoch(0, 0, None), epoch(1, 0, None), *FINISHED),
        "dataset_exhausted",
    ),
    (
        "an input of unknown length, at whose end Keras 3 warns",
        attempt_of(
            *(STARTED, CONNECTED, FitStarted(0, 5, None)),
            *(epoch(0, expected=None), *FINISHED),
            output="UserWarning: Your input ran out of data; interrupting training.",
            state="completed",
        ),
        "completed_normally",
    ),
    (
        "fit ended early (Keras 2 in a recorded loop)",
        attempt_of(
            *(STARTED, CONNECTED, FitStarted(0, 1, None), FitEnded(0, 8, 1, 1), exited(0)),
            output="Your input ran out of data; interrupting training (in this case, 80 batches).",
            state="completed",
        ),
        "dataset_exhausted",
    ),
    (
        "short epochs, then kill -9",
        failed(RAN_OUT_AT_15, killed()),
        "killed_from_outside",
    ),
    (
        "an epoch cut by a stop of a callback is not short",
        completed(OWN_STOP, epoch(1, 10), fit_ended(2), exited(0)),
        "early_stopping_or_callback_stop",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_early_stopping_says_what_it_watched() -> None:
    summary = finding_of(completed(epoch(2), PLATEAU, fit_ended(3), exited(0))).summary
    assert "epoch 3 of 5" in summary
    assert "val_loss did not improve on 0.4 for 2 epochs" in summary
    assert "its last value is 0.6" in summary


def test_a_loss_that_blew_up_is_told_from_a_plateau() -> None:
    evidence = completed(epoch(2, val_loss=9.5), PLATEAU, fit_ended(3), exited(0))
    assert "exploded to 9.5" in finding_of(evidence).summary


def test_the_line_that_stopped_the_training_is_named() -> None:
    finding = finding_of(completed(OWN_STOP, fit_ended(2), exited(0)))
    assert "train.py:17" in finding.evidence[0].text
    assert "train.py:17" in finding.advice[0]


def test_the_numbers_of_a_short_dataset_are_in_the_advice() -> None:
    advice = advice_of(completed(RAN_OUT_AT_15, *FINISHED))[0]
    assert advice.startswith("steps_per_epoch=20, but the dataset has 15 batches: add .repeat()")


def test_an_epoch_that_began_in_another_attempt_is_not_short() -> None:
    restored = Restored(45, 2, 5, "exact", "", 0.1, 0)
    check(completed(restored, epoch(2, 15), epoch(3), epoch(4), *FINISHED), "completed_normally")


CALL = ExitCalled("sys.exit", "3", "/app/train.py", 12, "on_epoch_end", "Guard")


@pytest.mark.parametrize(
    ("call", "ended"),
    [
        (CALL, exited(3)),
        (replace(CALL, code="-1"), exited(255)),
        (replace(CALL, code="no data left"), exited(1)),
        (replace(CALL, how="os._exit", code="9"), exited(9)),
    ],
)
def test_a_call_of_exit_is_named(call: ExitCalled, ended: TrainerExited) -> None:
    finding = finding_of(failed(call, ended))
    assert finding.cause == "user_code_error"
    place = "/app/train.py:12 in on_epoch_end()"
    assert f"callback Guard called {call.how} at {place}" in finding.summary
    assert place in finding.advice[0]


def test_what_was_printed_before_a_call_of_exit_was_survived() -> None:
    text = printed("OSError: [Errno 28] No space left on device")
    check(failed(CALL, exited(3), output=text), "user_code_error")
    because = replace(CALL, handling="OSError")
    check(failed(because, exited(3), output=text), "disk_full")


def test_an_abort_that_the_script_called_is_no_internal_check() -> None:
    abort = replace(CALL, how="os.abort", code="0")
    diagnosis = diagnose(failed(abort, killed("SIGABRT")))
    assert diagnosis.finding
    assert diagnosis.finding.cause == "user_code_error"
    assert "called os.abort at /app/train.py:12" in diagnosis.finding.summary
    assert not diagnosis.others


def test_an_exit_of_the_preemption_handler_is_a_preemption() -> None:
    library = "tensorflow.python.distribute.failure_handling.failure_handling"
    finding = finding_of(failed(replace(CALL, code="42", module=library), exited(42)))
    assert finding.cause == "preempted_or_terminated"
    assert "PreemptionCheckpointHandler ended the script with exit code 42" in finding.summary


def test_the_message_of_an_exit_is_quoted() -> None:
    finding = finding_of(failed(replace(CALL, code="no data left"), exited(1)))
    assert '"no data left"' in finding.summary


@pytest.mark.parametrize(
    ("evidence", "cause"),
    [
        (failed(CALL, killed()), "killed_from_outside"),
        (failed(CALL, raised("KeyError", "x"), exited(3)), "user_code_error"),
        (failed(CALL, killed("SIGSEGV")), "native_crash"),
    ],
)
def test_a_call_that_did_not_end_it_is_no_cause(evidence: Evidence, cause: CauseId) -> None:
    finding = finding_of(evidence)
    assert finding.cause == cause
    assert "sys.exit" not in finding.summary


def test_leaving_a_fit_quietly_names_the_call() -> None:
    call = replace(CALL, how="os._exit", code="0")
    finding = finding_of(completed(call, exited(0)))
    assert "(callback Guard called os._exit at /app/train.py:12" in finding.summary
    assert finding.confidence > finding_of(completed(exited(0))).confidence


def test_an_exit_for_an_exception_that_was_caught_names_it() -> None:
    call = ExitCalled("sys.exit", "0", "/app/train.py", 12, "<module>", handling="ValueError")
    finding = finding_of(completed(call, exited(0)))
    assert finding.cause == "completed_normally"
    assert "did not return" in finding.summary
    assert "it caught ValueError and left (sys.exit at" in finding.summary


def test_an_interrupt_that_the_script_caught_is_an_interrupt() -> None:
    call = ExitCalled("sys.exit", "0", "/app/t.py", 12, "<module>", handling="KeyboardInterrupt")
    finding = finding_of(completed(call, exited(0)))
    assert finding.cause == "user_interrupt"
    assert "model.fit did not return at step 47" in finding.summary
    assert "pitstop stop" in finding.advice[0]


@pytest.mark.parametrize(
    ("class_name", "cause", "word"),
    [
        ("KeyboardInterrupt", "user_interrupt", "caught KeyboardInterrupt"),
        ("SystemExit", "user_code_error", "SystemExit at /app/train.py:12"),
        ("ValueError", "completed_normally", "it caught ValueError of /app/train.py:12"),
    ],
)
def test_what_left_the_fit_is_named_though_the_script_went_on(
    class_name: str, cause: str, word: str
) -> None:
    left = FitLeft(0, class_name, "/app/train.py", 12, "<module>")
    finding = finding_of(completed(left, ScriptEnded(47), exited(0)))
    assert finding.cause == cause
    assert word in finding.summary


def test_an_interrupt_of_a_fit_that_others_followed_is_no_end() -> None:
    left = FitLeft(0, "KeyboardInterrupt", "/app/train.py", 12, "<module>")
    again = FitStarted(1, epochs=5, steps_per_epoch=20)
    evidence = completed(left, again, FitEnded(1, 100, 5, 5), ScriptEnded(147), exited(0))
    assert finding_of(evidence).cause == "completed_normally"


@pytest.mark.parametrize(
    ("name", "cause"), [("SIGABRT", "native_crash"), ("SIGSEGV", "native_crash")]
)
def test_a_signal_that_the_script_sent_to_itself_names_the_line(name: str, cause: str) -> None:
    call = replace(CALL, how="os.kill", code=name)
    diagnosis = diagnose(failed(call, killed(name)))
    first, behind = diagnosis.finding, diagnosis.others[0]
    assert first
    assert first.cause == cause
    assert behind.cause == "user_code_error"
    assert f"ended itself with {name}: callback Guard called os.kill" in behind.summary
    assert "says" not in behind.summary
    other = diagnose(failed(replace(call, code="SIGHUP"), killed(name)))
    assert "user_code_error" not in [each.cause for each in other.others]


def test_a_sigterm_that_the_script_sent_to_itself_is_nobody_elses() -> None:
    call = replace(CALL, how="os.kill", code="SIGTERM")
    finding = finding_of(failed(call, killed("SIGTERM")))
    assert finding.cause == "preempted_or_terminated"
    assert finding.summary.startswith("The script sent SIGTERM")
    assert "pitstop.request_stop" in finding.advice[0]
    assert "scheduler" not in " ".join(finding.advice)  # nobody else has to be found
    assert "who sent the signal" not in finding.missing


def test_validation_data_that_ends_is_told_from_training_data() -> None:
    warning = "UserWarning: Your input ran out of data; interrupting training."
    evidence = completed(*(epoch(each) for each in range(5)), *FINISHED, output=warning)
    (other,) = (each for each in diagnose(evidence).others if each.cause == "dataset_exhausted")
    assert "validation data" in other.summary


def test_an_epoch_is_told_of_its_own_fit() -> None:
    last = FitStarted(1, 50, 1), FitEnded(1, 51, 50, 50)
    once = attempt_of(
        *(STARTED, CONNECTED, FitStarted(0, 1, 10), InputExhausted(0, 0, 1, 10)),
        *(FitEnded(0, 1, 1, 1), *last, ScriptEnded(51), exited(0)),
        state="completed",
    )
    said = finding_of(once).summary
    assert "only 1 of 10 steps" in said
    assert "50" not in said


def test_a_warning_about_an_input_of_unknown_length_is_no_second_finding() -> None:
    warning = "UserWarning: Your input ran out of data; interrupting training."
    missing = raised("NotFoundError", "/data/part-5.tfrecord; No such file or directory")
    epochs = (epoch(0, expected=None), epoch(1, expected=None))
    evidence = attempt_of(
        *(STARTED, CONNECTED, FitStarted(0, 5, None), *epochs, missing, exited(1)),
        output=warning,
        state="failed",
    )
    diagnosis = diagnose(evidence)
    assert diagnosis.finding
    assert diagnosis.finding.cause == "data_error"
    assert "dataset_exhausted" not in [each.cause for each in diagnosis.others]
