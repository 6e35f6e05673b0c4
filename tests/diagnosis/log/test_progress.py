"""Lines that only a training prints that goes on."""

from __future__ import annotations

import pytest

from pitstop.diagnosis.log import progress
from pitstop.diagnosis.log.lines import split
from pitstop.diagnosis.log.log import parse

GOES_ON = [
    "Epoch 3/10",
    " 12/100 [==>.....] - ETA: 2s - loss: 0.1",
    "100/100 - 1s - loss: 0.5 - val_loss: 0.6",
    "12/100 ━━━━ 3s 12ms/step - loss: 0.1",
    " 45%|████      | 450/1000 [00:10<00:12, 44.1it/s]",
    "Train Epoch: 1 [1280/60000 (2%)]\tLoss: 2.29",
    "Epoch [3/10], Loss: 0.3",
    "step 100, loss 0.25",
    "iter 40: loss 1.2, lr 0.001",
]
STANDS_STILL = [
    "",
    "Loading weights",
    '  File "a.py", line 3',
    "ValueError: expected 3/4",
    "retry 2/5: connection refused",
    "Found 100 images in 3 steps",
    "accuracy = 0.6731 (1009 / 1499)",
]


@pytest.mark.parametrize("text", GOES_ON)
def test_progress(text: str) -> None:
    assert progress.find(tuple(split(text)))


@pytest.mark.parametrize("text", STANDS_STILL)
def test_no_progress(text: str) -> None:
    assert progress.find(tuple(split(text))) == ()


def test_the_last_batch_of_the_last_epoch_is_the_end() -> None:
    text = "Epoch 2/2\n{}/8 ━━━━ - loss: 0.1"
    assert progress.ran_to_its_end(parse(text.format(8)).progress)
    assert not progress.ran_to_its_end(parse(text.format(7)).progress)
    assert not progress.ran_to_its_end(parse(text.format(8).replace("2/2", "2/3")).progress)


@pytest.mark.parametrize(
    ("line", "is_end"),
    [
        *(("Epoch 2/2, Loss: 0.123", True), ("Epoch 2/2 - Loss moyenne: 0.53", True)),
        *(("Epoch 2/2", False), ("Epoch 2/2, lr: 0.001", False), ("Epoch 2/3, loss: 0.1", False)),
        *(("Epoch [2/2], Step [10/60], Loss: 0.3", False), ("Epoch 2/2 step 10 loss: 0.3", False)),
    ],
)
def test_a_loop_of_the_script_that_tells_of_its_last_epoch(line: str, is_end: bool) -> None:
    log = parse(f"Epoch 1/2, loss: 0.4\n{line}\nsaved\n")
    assert progress.ran_to_its_end(log.progress) is is_end


@pytest.mark.parametrize(
    "text",
    [
        *("8/8 - loss: nan", "step 3 loss=NaN", "Epoch 1/3 loss: inf"),
        *("step: 100 total_loss: nan cls: nan", "iter 7/90 | lm loss: nan | lr 0.1"),
        "training loss(stage a): box: 1.2, total_loss: nan",
        "discriminator loss at step 0: nan",
    ],
)
def test_a_loss_that_is_no_number(text: str) -> None:
    (found,) = progress.find(tuple(split(text)))
    assert found.is_nan


@pytest.mark.parametrize(
    "text", ["8/8 - loss: 0.5 - val_loss: nan", "step: 100 loss: 2.1 aux_loss: nan"]
)
def test_the_loss_of_something_else_may_be_no_number(text: str) -> None:
    (found,) = progress.find(tuple(split(text)))
    assert not found.is_nan


def test_a_bar_that_is_drawn_again_is_no_step() -> None:
    log = parse("step 1 loss 0.5\nValueError: a\nstep 1 loss 0.5\n")
    assert not log.went_on_after(2, "")
    assert parse("step 1 loss 0.5\nValueError: a\nstep 2 loss 1\nstep 3 loss 1").went_on_after(
        2, ""
    )


def test_a_loss_that_a_notebook_puts_on_a_line_of_its_own() -> None:
    text = "Epoch 9/9\n 12/33 [>....]\n - ETA: 0s - loss: nan\n 13/33 [>....]\n - 0s - loss: 1.0\n"
    assert [each.is_nan for each in progress.find(tuple(split(text)))] == [False, True, False]


@pytest.mark.parametrize(
    ("text", "is_so"),
    [
        ("step 1 loss: nan\nstep 2 loss: nan\nstep 3 acc: 0.1\n", True),
        ("step 1 loss: nan\nstep 2 loss: 0.7\nstep 3 acc: 0.1\n", False),
        ("", False),
    ],
)
def test_a_loss_that_came_back_to_numbers_did_not_end_in_nan(text: str, is_so: bool) -> None:
    assert progress.ended_in_nan(progress.find(tuple(split(text)))) is is_so
