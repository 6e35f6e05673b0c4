"""Where a training stands still: stacks as Keras 3.15 and TensorFlow 2.21 leave them."""

from __future__ import annotations

import pytest

from pitstop.link.beacon import Phase
from pitstop.observation.thread_facts import ThreadFact
from pitstop.supervisor.hangs.stack_dump import Stack, StackFrame
from pitstop.supervisor.hangs.standstill import HangEvidence, judge

KERAS = "/venv/lib/python3.11/site-packages/keras/src/"
TF = "/venv/lib/python3.11/site-packages/tensorflow/python/"
STDLIB = "/usr/lib/python3.11/"


def stack(*calls: tuple[str, str]) -> Stack:
    return Stack(tuple(StackFrame(file, 7, function) for file, function in calls))


FIT = ((KERAS + "backend/tensorflow/trainer.py", "fit"), ("/app/train.py", "main"))
STEP = stack((TF + "eager/execute.py", "quick_execute"), *FIT)
CALLBACK = stack(
    (STDLIB + "socket.py", "recv"),
    ("/app/train.py", "on_epoch_end"),
    (KERAS + "callbacks/callback_list.py", "on_epoch_end"),
    *FIT,
)
KERAS_CALLBACK = stack(
    (KERAS + "saving/saving_lib.py", "save"),
    (KERAS + "callbacks/model_checkpoint.py", "_save_model"),
    (KERAS + "callbacks/callback_list.py", "on_epoch_end"),
    *FIT,
)
GENERATOR = stack(
    ("/app/data.py", "rows"),
    (TF + "data/ops/from_generator_op.py", "generator_py_func"),
    (TF + "ops/script_ops.py", "__call__"),
)
POOL = stack(
    (STDLIB + "multiprocessing/pool.py", "get"),
    (KERAS + "trainers/data_adapters/py_dataset_adapter.py", "get"),
    (TF + "ops/script_ops.py", "__call__"),
)
NOTEBOOK = stack(("/venv/lib/python3.11/site-packages/ipykernel/kernelapp.py", "start"))
PROMPT = stack()
DEBUGGER = stack((STDLIB + "cmd.py", "cmdloop"), (STDLIB + "pdb.py", "interaction"), *FIT)
SHUTDOWN = stack((STDLIB + "threading.py", "_shutdown"))
FORGOTTEN = stack(("/app/upload.py", "send"), (STDLIB + "threading.py", "run"))
ASLEEP = ThreadFact(41, "python", "S", "futex_do_wait")


def test_input_is_named_by_the_users_line_that_it_waits_in() -> None:
    found = judge(HangEvidence(Phase.TRAIN, (STEP, POOL, GENERATOR), (ASLEEP,)))
    assert (found.doing, found.place) == (
        "input",
        "it waits for its input at /app/data.py:7 in rows()",
    )
    assert found.frames == GENERATOR.frames


def test_an_input_that_the_main_thread_draws_itself() -> None:
    drawing = stack(
        ("/app/data.py", "rows"),
        (KERAS + "trainers/data_adapters/generator_data_adapter.py", "get_tf_iterator"),
        *FIT,
    )
    assert judge(HangEvidence(Phase.TRAIN, (drawing,))).place.endswith("/app/data.py:7 in rows()")


def test_a_callback_is_named_by_the_users_line_or_its_own() -> None:
    own = judge(HangEvidence(Phase.TRAIN, (CALLBACK,), (ASLEEP,)))
    assert (own.doing, own.place) == (
        "callback",
        "in a callback at /app/train.py:7 in on_epoch_end()",
    )
    theirs = judge(HangEvidence(Phase.TRAIN, (KERAS_CALLBACK,), (ASLEEP,)))
    assert "model_checkpoint.py:7 in _save_model()" in theirs.place


def test_a_step_that_waits_is_a_step() -> None:
    found = judge(HangEvidence(Phase.TRAIN, (STEP,), (ASLEEP,)))
    assert (found.doing, found.place) == (
        "step",
        "in a step, waiting or computing at /app/train.py:7 in main()",
    )


def test_a_dead_worker_explains_a_wait_for_input() -> None:
    evidence = HangEvidence(Phase.TRAIN, (STEP, POOL), (ASLEEP,), ("process 9, ended by SIGKILL",))
    found = judge(evidence)
    assert found.doing == "worker"
    assert "process 9, ended by SIGKILL" in found.place
    assert judge(HangEvidence(Phase.SAVING, (STEP,), (), evidence.dead_workers)).doing == "save"
    assert (
        judge(HangEvidence(Phase.TRAIN, (CALLBACK,), (), evidence.dead_workers)).doing == "callback"
    )


@pytest.mark.parametrize(("state", "words"), [("T", "SIGSTOP"), ("t", "debugger")])
def test_a_suspended_process_says_so_and_how_to_go_on(state: str, words: str) -> None:
    found = judge(HangEvidence(Phase.TRAIN, (), (ThreadFact(41, "python", state),)))
    assert found.doing == "stopped"
    assert words in found.place
    assert "kill -CONT 41" in found.place


def test_a_device_that_does_not_answer_is_named_by_its_file() -> None:
    stuck = ThreadFact(42, "tf_Compute", "D", "rpc_wait_bit_killable", "/mnt/nfs/train.tfrecord")
    found = judge(HangEvidence(Phase.TRAIN, (STEP,), (ASLEEP, stuck)))
    assert (found.doing, "/mnt/nfs/train.tfrecord" in found.place) == ("disk", True)
    nameless = ThreadFact(42, "tf_Compute", "D", "rpc_wait_bit_killable")
    assert "rpc_wait_bit_killable" in judge(HangEvidence(Phase.TRAIN, (STEP,), (nameless,))).place


@pytest.mark.parametrize(
    "evidence",
    [
        HangEvidence(Phase.TRAIN, (DEBUGGER,), (ASLEEP,)),
        HangEvidence(Phase.BETWEEN_FITS, (NOTEBOOK,), (ASLEEP,)),
        HangEvidence(Phase.BETWEEN_FITS, (PROMPT, FORGOTTEN), (ASLEEP,)),
        HangEvidence(
            Phase.BETWEEN_FITS, (), (ThreadFact(41, "python", "S", "n_tty_read", "/dev/pts/3"),)
        ),
    ],
)
def test_who_waits_for_a_person_does_not_stand_still(evidence: HangEvidence) -> None:
    assert judge(evidence).doing == "person"


@pytest.mark.parametrize(
    ("phase", "doing"),
    [
        (Phase.RESTORING, "restore"),
        (Phase.SAVING, "save"),
        (Phase.BETWEEN_FITS, "script"),
        (Phase.ENDED, "exit"),
        (Phase.FIRST_STEP, "step"),
        (Phase.VALIDATION, "step"),
    ],
)
def test_without_stacks_the_phase_says_what_it_does(phase: Phase, doing: str) -> None:
    assert judge(HangEvidence(phase)).doing == doing


def test_a_script_whose_threads_do_not_end_is_named_by_them() -> None:
    found = judge(HangEvidence(Phase.BETWEEN_FITS, (SHUTDOWN, FORGOTTEN), (ASLEEP,)))
    assert found.doing == "exit"
    assert "/app/upload.py:7 in send()" in found.place
