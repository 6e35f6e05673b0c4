"""Ends without an error: what of a log belongs to the training that ended, and what to another."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Finding
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

RAN_OUT = (
    "/opt/venv/lib/python3.11/site-packages/keras/src/trainers/epoch_iterator.py:164: UserWarning: "
    "Your input ran out of data; interrupting training. Make sure that your dataset or generator "
    "can generate at least `steps_per_epoch * epochs` batches. You may need to use the `.repeat()` "
    "function when building your dataset.\n  self._interrupted_warning()\n"
)
EPOCH_1 = "Epoch 1/3\n"
EPOCHS_2_AND_3 = "Epoch 2/3\n20/20 - 0s - loss: 0.9\nEpoch 3/3\n20/20 - 0s - loss: 0.2\n"
WHOLE_EPOCH = "20/20 - 1s - loss: 1.9\n"
FIT_OF_9 = "Epoch 1/9\n8/8 - 1s - loss: 0.9\nEpoch 2/9\n"
FAILED = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\nKeyError: 1\n'
LOOP = "epoch 0: loss 1.0753\nepoch 1: loss 0.0791\nepoch 2: loss 0.0039\n"


def told(text: str, exit_code: int | None = None) -> list[Finding]:
    return findings(Ending(parse(text), exit_code))


CASES: list[tuple[str, str, int | None, CauseId]] = [
    # Keras 3 warns of an input that is too short, and of one whose length it did not know.
    (
        "the first epoch ran out, all epochs were printed whole: an unknown length, as likely",
        EPOCH_1 + RAN_OUT + WHOLE_EPOCH + EPOCHS_2_AND_3,
        0,
        "completed_normally",
    ),
    (
        "the same, and nobody knows the exit code",
        EPOCH_1 + RAN_OUT + WHOLE_EPOCH + EPOCHS_2_AND_3,
        None,
        "completed_normally",
    ),
    (
        "the bar stood before its end",
        EPOCH_1 + "15/20 ━━━━━━━━━ 0s 14ms/step - loss: 2.1\n" + RAN_OUT + EPOCHS_2_AND_3,
        0,
        "dataset_exhausted",
    ),
    (
        "the bar stood before its end, and the warning sticks to it",
        EPOCH_1 + "15/20 ━━━━━━ 0s 14ms/step - loss: 2.1" + RAN_OUT + EPOCHS_2_AND_3,
        0,
        "dataset_exhausted",
    ),
    (
        "a later epoch ran out: by then the length was known",
        EPOCH_1 + WHOLE_EPOCH + "Epoch 2/3\n" + RAN_OUT + "20/20 - 0s - loss: 0.0\nEpoch 3/3\n"
        "20/20 - 0s - loss: 0.1\n",
        0,
        "dataset_exhausted",
    ),
    (
        "the bar did not know the length",
        EPOCH_1 + "20/Unknown 1s 12ms/step - loss: 1.9\n" + RAN_OUT + WHOLE_EPOCH + EPOCHS_2_AND_3,
        0,
        "completed_normally",
    ),
    (
        "fewer epochs than announced",
        EPOCH_1 + WHOLE_EPOCH + "Epoch 2/3\nYour input ran out of data; interrupting training.\n",
        0,
        "dataset_exhausted",
    ),
    # Early stopping, and what came after it.
    (
        "another model was stopped early before a loop of the script's own",
        "Epoch 2: early stopping\n" + LOOP,
        0,
        "completed_normally",
    ),
    (
        "an evaluation is no later training",
        EPOCH_1 + WHOLE_EPOCH + "Epoch 1: early stopping\n"
        "1/79 [..............] - ETA: 9s - loss: 0.5\n79/79 [=====] - 1s - loss: 0.5\n"
        "13/13 [======] - 0s 2ms/step\n",
        0,
        "early_stopping_or_callback_stop",
    ),
    (
        "an indented log, and an evaluation of which one bar is left",
        (
            "    Epoch 11/50\n    202/202 [=====] - 7s - loss: 0\n    Epoch 00011: early stopping\n"
            "    406/406 [=====] - 9s - loss: 0.2\n"
        ),
        0,
        "early_stopping_or_callback_stop",
    ),
    (
        "the line of the epoch that was the last is no later training",
        "Epoch 7: loss 0.3\nEarly stopping triggered!\nEpoch 7: best val_loss 0.4\n",
        0,
        "early_stopping_or_callback_stop",
    ),
    (
        "the last of several fits stopped early too",
        f"Epoch 5: early stopping\n{FIT_OF_9}8/8 - 1s - loss: 0.8\nEpoch 2: early stopping\n",
        0,
        "early_stopping_or_callback_stop",
    ),
    (
        "a fit after it that was cut off",
        f"Epoch 5: early stopping\n{FIT_OF_9}",
        None,
        "unknown",
    ),
    (
        "a result below a short loop",
        LOOP + "Validation Accuracy: 0.4904\n",
        None,
        "completed_normally",
    ),
    (
        "a result in the first epoch of a loop that may go on",
        "epoch 0: loss 1.0753\nValidation Accuracy: 0.4904\n",
        None,
        "unknown",
    ),
    (
        "a result, and then others and what was saved",
        LOOP + "Best Acc:87.00\npruned accuracy: 86.9\nSaved checkpoint.\n",
        None,
        "completed_normally",
    ),
    (
        "a result of the first epoch, and what was saved",
        "epoch 0: loss 1.0753\nBest Acc:87.00\nSaved checkpoint.\n",
        None,
        "unknown",
    ),
    (
        "tests that passed, of what prints errors on purpose",
        f"test_nan (tests.Loss) ... {FAILED}ok\n----\nRan 3 tests in 1.2s\n\nOK\n",
        None,
        "completed_normally",
    ),
    ("an end that is told in Chinese", LOOP + "任务结束!\n", None, "completed_normally"),
    (
        "a shell says that it is done, whatever became of the script",
        FAILED + "\nreal\t0m5.1s\nuser\t0m1.2s\ndone\n",
        None,
        "user_code_error",
    ),
]


@pytest.mark.parametrize(
    ("text", "exit_code", "cause"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_cause(text: str, exit_code: int | None, cause: CauseId) -> None:
    found = told(text, exit_code)
    assert (found[0].cause if found else "unknown") == cause


def test_a_doubt_about_the_input_is_told_beside() -> None:
    first, *others = told(EPOCH_1 + RAN_OUT + WHOLE_EPOCH + EPOCHS_2_AND_3, exit_code=0)
    assert first.confidence < 0.8
    assert [(each.cause, each.confidence < 0.5) for each in others] == [("dataset_exhausted", True)]


def test_what_ran_out_below_a_whole_bar_is_the_validation_data() -> None:
    bars = EPOCH_1 + "15/20 [=====>...] - loss: 2.1\n20/20 [==========] - loss: 1.9"
    found = told(bars + RAN_OUT.replace("batches.", "batches (in this case, 5 batches)."))[0]
    assert (found.cause, found.confidence < 0.5) == ("dataset_exhausted", True)
    assert "validation_steps" in found.summary


def test_an_early_stop_of_another_fit_is_not_told_as_a_likely_cause() -> None:
    others = told("Epoch 2: early stopping\n" + LOOP, exit_code=0)[1:]
    assert all(each.confidence < 0.5 for each in others)


def test_an_early_stop_before_a_fit_that_continues_the_count_is_of_another_fit() -> None:
    stopped = f"{EPOCH_1}{WHOLE_EPOCH}Epoch 1: early stopping\n"
    assert told(stopped)[0].cause == "early_stopping_or_callback_stop"
    assert told(f"{stopped}Epoch 2/9\n12/20 [==>...] - ETA: 3:37 - loss: 0.4\n") == []


def test_an_exit_code_of_zero_in_an_early_epoch_is_not_sure_to_be_the_end() -> None:
    left, ended = told(EPOCH_1, exit_code=0)[0], told(EPOCH_1 + "done\n", exit_code=0)[0]
    assert (left.cause, ended.cause) == ("completed_normally", "completed_normally")
    assert left.confidence < 0.7 < ended.confidence
    assert "beyond epoch 1 of 3" in left.summary
