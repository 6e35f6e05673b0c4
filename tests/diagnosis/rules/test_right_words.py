"""Reports that blame nobody who is not to blame, and say what is known."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, diagnose
from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    NonFiniteLoss,
    NonFiniteWeights,
    RollbackRefused,
    RolledBack,
    StopRequested,
)
from pitstop.supervisor.records import notices
from tests.diagnosis.attempts import (
    CONNECTED,
    FINISHED,
    FIT,
    STARTED,
    advice_of,
    attempt_of,
    completed,
    epoch,
    exited,
    failed,
    finding_of,
    fit_ended,
    raised,
    stopped,
)

_FIT_FRAMES = """\
  File "/app/train.py", line 9, in <module>
    model.fit(x)
  File "/venv/lib/python3.11/site-packages/keras/src/trainers/trainer.py", line 377, in fit
    for step, iterator in epoch_iterator:
"""
_OURS = """\
  File "/venv/lib/python3.11/site-packages/pitstop/engine/session/witness.py", line 31, in look
    return float(value)
"""


def _raised_with(frames: str, name: str = "builtins.TypeError", message: str = "no") -> CauseId:
    event = raised(name, message, traceback=f"Traceback (most recent call last):\n{frames}")
    return finding_of(failed(event, exited(1))).cause


def test_a_completed_run_has_no_fault_of_the_script() -> None:
    caught = raised("builtins.ValueError", "caught by the script")
    assert finding_of(completed(caught, *FINISHED)).cause == "completed_normally"


def test_a_fit_that_did_not_return_is_told_of_a_completed_run() -> None:
    finding = finding_of(completed(*FINISHED[1:]))
    assert (finding.cause, finding.confidence) == ("completed_normally", 0.75)
    assert "did not return" in finding.summary
    assert "caught" in finding.summary


def test_epochs_share_one_pass_over_the_input() -> None:
    """A hundred batches, and 70 steps in each epoch."""
    attempt = attempt_of(
        *(STARTED, CONNECTED, FIT),
        *(epoch(0, 70, 70), epoch(1, 30, 70), fit_ended(), *FINISHED[1:]),
        state="completed",
    )
    advice = advice_of(attempt)[0]
    assert "has 100 batches" in advice
    assert "2 epochs of steps_per_epoch=70 need 140" in advice


def test_steps_that_a_full_disk_kept_from_being_saved_are_told() -> None:
    refused = CheckpointFailed(80, "No space left on device.", "Free some space.")
    finding = finding_of(completed(refused, *FINISHED))
    assert finding.cause == "completed_normally"
    assert "the last 60 steps were not saved: No space left on device." in finding.summary
    assert finding.advice[0] == "Free some space."
    saved = CheckpointCommitted(100, 4, "checkpoints/00000100", 1000, 0.1, "end")
    assert "no checkpoint" not in finding_of(completed(refused, saved, *FINISHED)).summary


_OWN_FILE = "/app/src/pitstop/tensorflow/private.py"


@pytest.mark.parametrize(
    ("frames", "cause"),
    [
        (_FIT_FRAMES + _OURS, "unknown"),
        (
            _FIT_FRAMES + _OURS + '  File "/usr/lib/python3.11/json/encoder.py", line 2, in x\n',
            "unknown",
        ),
        (_FIT_FRAMES + _OURS.replace("float(value)", "call(*args, **named)"), "user_code_error"),
        (_FIT_FRAMES + _OURS.replace("float(value)", "run()"), "user_code_error"),
        (_FIT_FRAMES + _OURS.replace("float(value)", "original(queue, data)"), "user_code_error"),
        (_OURS + '  File "/app/train.py", line 3, in loss\n    return a + b\n', "user_code_error"),
        (_FIT_FRAMES, "user_code_error"),
    ],
)  # fmt: skip
def test_what_fails_in_our_frames_is_ours(frames: str, cause: CauseId) -> None:
    assert _raised_with(frames) == cause


def test_our_own_failure_says_so_and_how_to_report_it() -> None:
    event = raised("builtins.TypeError", "no", traceback=_FIT_FRAMES + _OURS)
    finding = finding_of(failed(event, exited(1)))
    assert finding.summary.startswith("Pitstop itself failed")
    assert "Report it" in finding.advice[0]


@pytest.mark.parametrize(
    ("message", "callback", "cause"),
    [
        ("Unable to create file (errno = 2, 'No such file')", "Save", "callback_error"),
        ("[Errno 2] No such file or directory: 'out/log.csv'", "CSVLogger", "callback_error"),
        ("[Errno 28] No space left on device", "Save", "disk_full"),
        ("[Errno 2] No such file or directory: 'in.csv'", "", "data_error"),
    ],
)  # fmt: skip
def test_a_callback_that_cannot_write_is_no_missing_input(
    message: str, callback: str, cause: CauseId
) -> None:
    event = raised("builtins.FileNotFoundError", message, "OSError", callback=callback)
    assert finding_of(failed(event, exited(1))).cause == cause


def test_a_folder_that_is_not_there_to_save_in_is_no_missing_input() -> None:
    frames = '  File "/app/train.py", line 9, in main\n    frame.to_csv("out/a.csv")\n'
    event = raised("builtins.FileNotFoundError", "[Errno 2] out/a.csv", "OSError", traceback=frames)
    assert finding_of(failed(event, exited(1))).cause == "user_code_error"


def test_a_loss_that_goes_bad_is_told_when_it_does() -> None:
    line = notices.line_for(NonFiniteLoss(12, 0, 12, "loss", "nan", 0.7))
    assert "the loss became nan at step 12:" in line


def test_weights_that_are_not_finite_are_told_and_outweigh_a_finite_loss() -> None:
    weights = NonFiniteWeights(120, ["dense/kernel", "a", "b", "c"], 90)
    line = notices.line_for(weights)
    assert "at step 120: dense/kernel, a, b, ...." in line
    assert "The last checkpoint without them: step 90" in line
    finding = finding_of(completed(weights, *FINISHED))
    assert finding.cause == "nan_loss"
    assert "Weights were NaN or infinite at step 120, but finite at step 90" in finding.summary
    assert "useless" in finding.summary
    assert diagnose(completed(weights, *FINISHED)).tone == "doubtful"


def test_a_run_that_was_rolled_back_says_so_and_nobody_else_stopped_it() -> None:
    nan = NonFiniteLoss(12, 0, 12, "loss", "nan", 0.7)
    asked = StopRequested(source="nan", urgency="graceful")
    back = RolledBack("loss", 12, "00000009", 9, "skip", 1, 3)
    for event, words in (
        (back, "--on-nan rollback went back to step 9"),
        (RollbackRefused("it was rolled back 3 times"), "not rolled back: it was rolled back 3"),
    ):
        found = diagnose(stopped(nan, asked, event))
        assert found.finding is not None
        assert found.finding.cause == "nan_loss"
        assert words in found.finding.summary
        assert not [each for each in found.others if each.cause == "stop_requested"]


def test_a_run_of_no_use_is_not_green() -> None:
    nan = NonFiniteLoss(12, 0, 12, "loss", "nan", 0.7)
    assert diagnose(completed(nan, *FINISHED)).tone == "doubtful"
    assert diagnose(completed(*FINISHED)).tone == "completed"
    assert diagnose(failed(nan, exited(1))).tone == "failed"


def test_of_frames_in_a_message_neither_ours_nor_the_others_hide_what_it_says() -> None:
    frames = "".join(f'  File "{file}", line 9, in op\n' for file in ("train.py", _OWN_FILE))
    message = f"Graph execution error:\n\nDetected at node a defined at\n{frames}bad label 5\n"
    event = raised("tensorflow.python.framework.errors_impl.InvalidArgumentError", message)
    finding = finding_of(failed(event, exited(1)))
    assert any("train.py:9" in each for each in finding.advice)
    assert finding.evidence[0].text == "InvalidArgumentError: bad label 5"


def test_a_callback_that_reports_to_a_server_is_no_download() -> None:
    words = "<urlopen error [Errno 111] Connection refused>"
    event = raised("urllib.error.URLError", words, "OSError", callback="Report")
    finding = finding_of(failed(event, exited(1)))
    assert finding.cause == "network_or_download_failure"
    assert "run without this callback" in finding.advice[0]


def test_of_what_keras_says_of_a_layer_the_line_that_tells_is_shown() -> None:
    message = (
        "Exception encountered when calling Net.call().\n\n"
        "Input 'y' of 'AddV2' Op has type float64\n"
        "\nArguments received by Net.call():\n  • z=tf.Tensor(shape=(32, 8))"
    )
    finding = finding_of(failed(raised("TypeError", message), exited(1)))
    assert finding.summary.endswith("TypeError: Input 'y' of 'AddV2' Op has type float64")


def test_json_that_is_none_is_told_from_a_damaged_file() -> None:
    event = raised(
        "json.decoder.JSONDecodeError", "Expecting value: line 1 column 27", "ValueError"
    )
    finding = finding_of(failed(event, exited(1)))
    assert finding.cause == "data_error"
    assert "json.tool" in finding.advice[0]
