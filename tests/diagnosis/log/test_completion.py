"""Programs that end without an error and say so in words of their own; and logs that break off."""

from __future__ import annotations

import pytest

from pitstop.diagnosis.log import completion
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.lines import split
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

LOOP = "".join(f"Epoch {n}: loss {9 - n}.5\nval: {n}.5\n" for n in range(1, 8))
OTHER_LOOP = "".join(f"{n} d={n}.5 g={n}.25\n" for n in range(1, 14))
BELOW = "".join(
    f"Epoch {n}/7\nTraining...\nAverage loss: 0.{n}\nModel saved\n" for n in range(1, 8)
)
BATCHES = "".join(
    f"Epoch: {n:03}/007 | Batch 0000/0011 | Loss: 0.1\nEpoch: {n:03}/007 | Batch 0010/0011 | "
    f"Loss: 0.2\nTime elapsed: {n}.1 min\n"
    for n in range(1, 8)
)
FROM_ZERO = "".join(f"Epoch {n}/7, loss: 0.{n}\n" for n in range(7)) + "a\nb\nc\nd\n"
FAILED = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\n    f()\nKeyError: 1\n'
REPORT = (
    "              precision    recall  f1-score   support\n\n           0       0.90      0.80  "
    "    0.85        10\n           1       0.70      0.60      0.65        10\n\n    accuracy     "
    "                      0.75        20\n   macro avg       0.80      0.70      0.75        20\n"
)

AT_ITS_END = [
    *("Total Training Time: 4.15 min", "Total time elapsed: 3s", "Finished in 31.2s", "END"),
    "Training for 2 epochs and 512 batch size took 129.3 seconds\nModel saved",
    *("Accuracy of the network on the test images: 97.45%", "Overall F1: 0.81", "Final MSE = 0.02"),
    *("Confusion Matrix:\n[[8 6]\n [0 0]]", "Test set results\n" + REPORT, REPORT),
    *("Done with model training!", "44/44 models fit successfully.", "Command ran successfully a"),
]
SAVED_AT_ITS_END = [
    *("Model saved!", "Saved model to disk", "The final model was saved to m.h5"),
    *("Saving test.predicted results to ../results/test.json", "Predictions written to out.csv"),
    *("File out/a.wav written", "Plots saved in figs"),
    "[worker 1] D Session closed.\n[worker 1] D Server stopped.",
]
NOT_AT_ITS_END = [
    *("Model saved at epoch 7", "Saved best model", "Saved checkpoint model-7", "val: 8.5"),
    *("Final pre-training loss: 0.06\nStarting Chain: 200 Samples", "Loading test set took 3 s"),
    "No data left. Exiting",
    *("Model saved\nlog - INFO - Training the model again", "Creating the test set"),
    *("Training time limit: 3 h", "Evaluating the model"),
]


def cause(text: str) -> str:
    found = findings(Ending(parse(text)))
    return found[0].cause if found else "unknown"


@pytest.mark.parametrize("words", [*AT_ITS_END, *SAVED_AT_ITS_END])
def test_last_words_below_a_loop(words: str) -> None:
    assert cause(f"{LOOP}{words}\n") == "completed_normally"


@pytest.mark.parametrize("words", SAVED_AT_ITS_END)
def test_what_was_saved_below_a_loop_of_unknown_measures(words: str) -> None:
    said = f"{OTHER_LOOP}{words}\n"
    assert cause(said) == "completed_normally"
    assert cause(f"{said}{OTHER_LOOP}Epoch 8: loss 7.0\n{FAILED}") == "user_code_error"


KERAS = "".join(
    f"Epoch {n}/9\n30/30 [==] - 1s 9ms/step - loss: 0.2\nEpoch 0000{n}: val_loss did not improve\n"
    for n in range(1, 10)
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LOOP}Mittlere Abweichung auf den Testdaten 0,3", "completed_normally"),
        (f"{LOOP}Evaluating on test split\nTest metrics: acc=1.0", "completed_normally"),
        (f"{LOOP}Creating the second model\n12 layers", "completed_normally"),
        (f"{LOOP}12 layers\nCreating the second model", "unknown"),
        (f"{LOOP}2020-02-27 15:01:24.4: I tensorflow/core/a.cc:7] Adding a device", "unknown"),
        (LOOP + LOOP[: len(LOOP) // 2], "unknown"),
        (KERAS, "completed_normally"),
        (KERAS.rpartition("30/30")[0], "unknown"),
        (f"{KERAS}Epoch 1: loss 0.1", "unknown"),
        (
            "".join(f"04:15:51 | {line}\n" for line in ["a", "b", "DONE!", "c"]),
            "completed_normally",
        ),
    ],
    ids=[
        "own_words",
        "parts",
        "in_a_part",
        "part",
        "native",
        "loop",
        "full",
        "cut",
        "more",
        "clock",
    ],
)
def test_a_line_of_a_new_form_below_the_loop(text: str, expected: str) -> None:
    assert cause(text) == expected


STARTS = "Extracting a.gz\nExtracting b.gz\nname: TITAN\nTotal memory: 11.90GiB\n"
EPOCHS = "".join(f"Epoch {n}/2\n60/60 [==] - 2s 27us/sample - loss: 2.3\n" for n in (1, 2))
GLUED = " 9792/10000 [====>.] - ETA: 0s - loss: 33.9 - acc: 0.83[33.96930, 0.8358]\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{STARTS}0.9192\n", "completed_normally"),
        (f"{STARTS}0.9192\n0.9193\n", "unknown"),
        (f"{STARTS}12\n", "unknown"),
        (f"{FAILED}0.9192\n", "user_code_error"),
        (f"{EPOCHS}{GLUED}", "completed_normally"),
        (f"a\n{EPOCHS.partition('Epoch 2')[0]}{GLUED}", "unknown"),
    ],
    ids=["number", "numbers", "count", "error", "list", "list_in_an_epoch"],
)
def test_a_number_that_stands_alone_at_the_end_is_a_result(text: str, expected: str) -> None:
    assert cause(text) == expected


ONLY_BAR = "Train on 8 samples\n8/8 [=====] - 114s 17ms/sample - loss: 0.1\n"
TRAININGS = "".join(
    f"{n}/4. {name}\n1/2 | loss: 0.3 | 1 s.\n2/2 | loss: 0.2 | 1 s.\nmean time=1.{n} s.\n"
    for n, name in enumerate(["Adam", "Nadam", "SGD", "Ftrl"], 1)
)
COUNT_BELOW = "{'epoch_num': 9}\n" + "".join(
    f"MSE = 0.{n}\n Epoch: {n} Best Error: 0.1\n" for n in range(9)
)
FIRST_STATES = "".join(
    f"Epoch {n}/5\n   1/500 [....] - ETA: 3:12 - loss: 0.{n}" for n in range(1, 6)
)


@pytest.mark.parametrize(
    "text",
    [ONLY_BAR, 2 * ONLY_BAR, TRAININGS, COUNT_BELOW, FIRST_STATES],
    ids=["one_epoch", "two_fits", "several_trainings", "count_below", "first_states"],
)
def test_a_whole_last_part(text: str) -> None:
    assert cause(text) == "completed_normally"
    assert cause(text.rstrip().rpartition("\n")[0]) == "unknown"


def test_a_checkpoint_that_counts_epochs_from_zero_begins_none() -> None:
    rounds = (
        f"Epoch {n}/9\nEpoch 0000{n - 1}: val_loss did not improve\n5s - loss: 0.3\n"
        for n in range(1, 10)
    )
    assert cause("".join(rounds)) == "completed_normally"


def test_an_early_stop_of_the_training_before() -> None:
    first, last = (
        "".join(f"training.trainer \u2014 Epoch {n}/9 | Loss=0.{n}\n" for n in range(1, end))
        for end in (6, 10)
    )
    stop = "training.trainer \u2014 Early stopping at epoch 5\n"
    assert cause(first + stop) == "early_stopping_or_callback_stop"
    assert cause(first + stop + last) == "completed_normally"


def test_a_training_that_is_repeated_ends_as_before() -> None:
    again = "".join(
        f"Epoch 1/1\n8/8 [=====] - 2s - loss: 0.{n}\n(8,) (8,)\nArea 0.{n}\n" for n in range(6)
    )
    assert cause(again) == "completed_normally"
    assert cause(again.rpartition("Area")[0]) == "unknown"


def test_what_a_warning_counts_is_no_progress() -> None:
    fit = KERAS + "WARNING:absl:Found untraced functions while saving (showing 5 of 22).\n"
    assert cause(fit) == "completed_normally"


def test_a_bar_of_one_epoch_that_is_not_whole() -> None:
    assert cause(ONLY_BAR.replace("8/8", "7/8")) == "unknown"


@pytest.mark.parametrize("words", NOT_AT_ITS_END)
def test_words_of_a_training_that_goes_on(words: str) -> None:
    assert cause(f"{LOOP}{words}\n") == "unknown"


@pytest.mark.parametrize("words", ["Model saved", "Total Training Time: 4.15 min", "Bye!"])
def test_what_is_said_in_each_epoch_or_after_an_error_is_no_end(words: str) -> None:
    loop = "".join(f"Epoch {n}: loss {9 - n}.5\n{words}\n" for n in range(1, 8))
    assert cause(loop) == "unknown"
    assert cause(f"{LOOP}{FAILED}{words}\n") == "user_code_error"
    assert cause(f"{LOOP.replace(':', '/20:')}{words}\n") == "unknown"


@pytest.mark.parametrize(
    "text", [BELOW, BATCHES, FROM_ZERO, BELOW.replace("Epoch", "EPOCH"), 3 * BELOW]
)
def test_a_counter_that_has_reached_its_total(text: str) -> None:
    assert cause(text) == "completed_normally"
    *lines, last = text.splitlines()
    last_of_all = {"d": "Epoch 6/7"}.get(last, last)
    at = max(index for index, line in enumerate(text.splitlines()) if last_of_all in line)
    assert cause("\n".join(lines[:at])) == "unknown"


def test_a_bar_that_is_drawn_counts_something_inside() -> None:
    bars = "".join(f"Loading: 100%|███| {n}/5 [00:01<00:00, 1it/s]\n" for n in range(1, 6))
    assert cause("a\nb\nc\nd\ne\nf\n" + bars) == "unknown"


def test_a_later_run_of_files_survives_an_error() -> None:
    files = "".join(f"Finished {n}/8 files\n" for n in range(8))
    assert cause(FAILED + files) == "unknown"


ROUNDS = "".join(f"[{n}]\ttrain-err:0.{n}\tval-err:0.{n}\n" for n in range(20))
STEPS = "".join(f"step: {n}, loss: 0.5\n\tacc: 0.{n}, time: 1.0\n" for n in range(201))


@pytest.mark.parametrize(
    "text",
    [
        ROUNDS,
        STEPS,
        f"{ROUNDS}[20]\ttrain-err:0.1\tval-err:0.1\n[21]\ttrain-err:0.1\tval-err:0.1\nErr: 0.1\n",
        f"{ROUNDS}Loading the next part\n",
        f"{ROUNDS}Warning: the result is 0\n",
        f"{ROUNDS}{ROUNDS}{ROUNDS}",
        STEPS.rpartition("\tacc")[0],
        f"{STEPS}step: 201, loss: 0.5\n",
        ROUNDS.replace("]", "/30]") + "Evaluation: 0.1\n",
        "".join(f"[{n}/3]\n" for n in range(1, 4)) + 4 * "loss 0.1\nspeed 2\n",
    ],
    ids=[
        *("no_epilog", "round", "beyond", "next_part", "warning", "inner", "half_a_round"),
        *("one_more", "before_total", "another_loop"),
    ],
)
def test_a_counter_that_may_go_on(text: str) -> None:
    assert cause(text) == "unknown"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{LOOP}EARLY STOP\n", "early_stopping_or_callback_stop"),
        ("a\n==== 4 failed, 14 passed, 2 warnings in 71.41 seconds ====\n", "user_code_error"),
        (f"{FAILED}[C App] received signal 15, stopping\n", "preempted_or_terminated"),
        (FAILED.replace("KeyError: 1", "RuntimeError: can't alloc"), "host_alloc_failure"),
    ],
)
def test_last_lines_of_other_programs(text: str, expected: str) -> None:
    assert cause(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Training finished.", "Finished Training", "'train_runtime': 3", "Done!", "finish"),
        "INFO:torch.distributed.elastic.agent:[default] worker group successfully finished. Wait",
        "[2026-01-02] INFO - the job completed successfully",
        "Training ends @ 1589398297.5",
        "\u2714 Saved pipeline to output directory",
        "Completed model training.",
        " 40%|## | 41/102 [57:45<1:16:44, 13.37it/s](INFO)[base.py:532]  ---Training Finished---",
        "Search finished. Best val_loss: 0.29",
        "[2026-01-30 19:02:16,833][manifold][INFO] - >>> Pipeline Complete. Shutting down.",
        "所有任务完成!",
        "INFO:launch_crd:kubeflow.org/tfjobs a has reached the expected condition: Succeeded.",
    ],
)
def test_what_says_that_all_was_done(text: str) -> None:
    assert list(completion.completions(tuple(split(text))))


@pytest.mark.parametrize(
    "text",
    ["Download finished successfully", "saved successfully", "Training ends with an error"],
)
def test_what_says_that_a_part_was_done(text: str) -> None:
    assert not list(completion.completions(tuple(split(text))))


@pytest.mark.parametrize(
    ("last", "passed"),
    [
        *(("== 13 passed, 1 skipped in 31.22s ==", True), ("14 passed in 3.20s", True)),
        *(
            ("Ran 3 tests in 12.345s\n\nOK", True),
            ("Ran 3 tests in 1s\n\nFAILED (errors=1)", False),
        ),
        ("=== 1 failed, 13 passed in 31.22s ===", False),
    ],
)
def test_tests_that_passed(last: str, passed: bool) -> None:
    assert bool(completion.passed_tests(tuple(split(f"test_grad ... ok\n\n{last}")))) == passed


def _loop(steps: int) -> str:
    return "".join(f"{step}/{steps} [==>] - loss: 0.{step:02}\n" for step in range(1, steps + 1))


@pytest.mark.parametrize(
    ("text", "is_complete"),
    [
        (f"{_loop(12)}Area below the curve: 0.81\n(1800, 3)", True),
        (f"{_loop(12)}RMSE (Root Mean Squared Error): 1.003", True),
        (f"{_loop(12)}Cannot write the area below the curve: 0.81", False),
        (f"{_loop(12)}Evaluating the next model", False),
        (_loop(12), False),
        (f"{_loop(12)}1/12 [=>..] - loss: 0.11", False),
    ],
)
def test_what_stands_below_a_full_bar(text: str, is_complete: bool) -> None:
    assert Ending(parse(text)).is_complete == is_complete


@pytest.mark.parametrize(
    ("first", "total", "is_complete"),
    [(11, 38, True), (11, 39, False), (11, 76, False), (0, 39, True), (0, 40, False)],
)
def test_a_counter_that_has_reached_what_its_settings_say(
    first: int, total: int, is_complete: bool
) -> None:
    lines = "\n".join(f"Iter:{at} loss=0.{at}\n[Eval] Iter:{at} map=0.1" for at in range(first, 39))
    whole = f'"num_iters": {total},\n{lines}'
    assert Ending(parse(whole)).is_complete == is_complete
    assert not Ending(parse(whole.rpartition("\n")[0])).is_complete


def test_an_error_after_which_a_program_told_much_more_was_caught() -> None:
    served = "".join(f"GET /page/{n} 200\n" for n in range(140))
    assert cause(f"{LOOP}{FAILED}{served}") == "unknown"
    assert cause(f"{LOOP}{FAILED}{served[:200]}") == "user_code_error"
    assert cause(f"{LOOP}{FAILED}{served}{FAILED}") == "user_code_error"
    packages = "".join(f"package_{n}{'==' if n % 2 else '   '}1.{n}.0\n" for n in range(140))
    assert cause(f"{LOOP}{FAILED}\nPip packages:\n{packages}") == "user_code_error"


EVALUATED = "INFO:tensorflow:Starting evaluation at 1\nINFO:tensorflow:Finished evaluation at 2\n"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f"{EVALUATED}INFO:tensorflow:Saving dict for global step 4: loss = 0.1", True),
        (f"INFO:tensorflow:loss = 0.2, step = 1\n{EVALUATED}", False),
        (f"{EVALUATED}INFO:tensorflow:global_step/sec: 1.7", False),
        (f"{EVALUATED}{EVALUATED.partition('Finished')[0]}", False),
    ],
    ids=["alone", "in_training", "before_steps", "goes_on"],
)
def test_an_evaluation_without_a_training(text: str, expected: bool) -> None:
    assert Ending(parse(text)).is_complete == expected
