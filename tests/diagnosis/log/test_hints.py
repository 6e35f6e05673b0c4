"""Lines that sound like an error, or like waiting, where nothing else tells of the end."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Finding
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

STAMP = "2021-11-02 14:02:28.120091: "
GAVE_UP = f"{STAMP}F tensorflow/core/kernels/conv_ops.cc:1161] Check failed: stream->parent()\n"
ABORTED = "Process finished with exit code 134 (interrupted by signal 6: SIGABRT)\n"
FACTORY = "E external/xla/cuda_dnn.cc:9261] Unable to register cuDNN factory: one is registered\n"
BARS = "Epoch 1/3\n5/8 - 1s - loss: 0.8\n"
WAITS = "master.cc:267] CreateSession still waiting for response from worker: /job:ps/task:{}\n"


def first(text: str) -> Finding | None:
    return next(iter(findings(Ending(parse(text)))), None)


@pytest.mark.parametrize(
    ("said", "cause"),
    [
        (
            f"{STAMP}E x/cuda_dnn.cc:373] Could not create cudnn handle: CUDNN_STATUS_ERROR\n",
            "gpu_driver_or_library",
        ),
        ("E0000 00:00:1.2 77 driver.cc:8] failed to allocate 2G from device 0\n", "gpu_oom"),
        (f"{STAMP}{FACTORY}", "native_crash"),
        (f"{STAMP}I x/cuda_dnn.cc:369] Loaded cuDNN version 8005\n", "native_crash"),
        ("", "native_crash"),
    ],
)
def test_what_native_code_called_an_error_explains_why_it_gave_up(
    said: str, cause: CauseId
) -> None:
    found = first(BARS + said + GAVE_UP + ABORTED)
    assert found is not None
    assert found.cause == cause


def test_an_error_long_before_it_does_not() -> None:
    said = f"{STAMP}E x/cuda_dnn.cc:373] Could not create cudnn handle: CUDNN_STATUS_ERROR\n"
    found = first(said + "a line\n" * 20 + GAVE_UP + ABORTED)
    assert found is not None
    assert found.cause == "native_crash"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (
            "I m.cc:2] CreateSession still waiting for response from worker: /job:ps/task:0\n",
            "hang_or_stall",
        ),
        (BARS + "".join(WAITS.format(number) for number in range(4)), "hang_or_stall"),
        ("Waiting for 3 more workers to join (10 s)\n" * 4, "hang_or_stall"),
        ("Waiting for 3 more workers to join (10 s)\n" * 4 + BARS, "unknown"),
        ("Waiting for data\nready\n" + BARS, "unknown"),
        ("It prints this, and the program does not continue:\n" + BARS, "hang_or_stall"),
        ("no progress bar is shown\n" + BARS, "unknown"),
        ("It fills the buffer and nothing comes up after.\n", "hang_or_stall"),
        # a warning at the end of the interpreter, with its operation below it
        (
            (
                "W g.cc:103] Error occurred when finalizing GeneratorDataset iterator: Failed "
                "precondition: Python interpreter state is not initialized. The process may be "
                "terminated.\n         [[{{node PyFunc}}]]\n"
            ),
            "unknown",
        ),
        ("5/8 - 1s - loss: 0.8\n" * 4, "unknown"),
    ],
)
def test_a_log_that_ends_in_waiting(text: str, cause: CauseId) -> None:
    found = first(text)
    assert (found.cause if found else "unknown") == cause
    assert found is None or found.confidence < 0.5


ALLOCATOR = "I tensorflow/core/bfc_allocator.cc:700] Sum Total of in-use chunks: 11.16GiB\n"
OOM = "Resource exhausted: OOM when allocating tensor with shape[256,832,7,7]\n"
FAILED = "W tensorflow/core/framework/op_kernel.cc:968] "


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (ALLOCATOR + FAILED + OOM, "gpu_oom"),
        (FAILED + OOM, "gpu_oom"),
        (f"{FAILED}{OOM} on /device:CPU:0 by allocator cpu\n", "host_alloc_failure"),
        (FAILED + "Out of range: End of sequence\n", "unknown"),
        ("W tensorflow/core/x.cc:9] " + OOM, "unknown"),
    ],
)
def test_what_tensorflow_calls_a_warning_before_its_exception(text: str, cause: CauseId) -> None:
    found = first(BARS + text)
    assert (found.cause if found else "unknown") == cause


@pytest.mark.parametrize(
    "text",
    [
        *("MeanSquaredError: 0.02", "TrainError: 0.5, ValError: 0.6", "error: 0", "timeout: 30s"),
        *("Early stopping patience 5", "Early stopping min_delta: 0.01", "Data loss: 0.234"),
        "OOM score adjusted",
    ],
)
def test_a_metric_or_a_setting_is_no_error(text: str) -> None:
    assert first(f"start\n{text}\n{BARS}") is None


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Early stopping epoch 12", "early_stopping_or_callback_stop"),
        ("KeyError: 0", "user_code_error"),
        ("Data loss: truncated record at 1200", "data_error"),
    ],
)
def test_what_ends_in_a_number_may_be_one(text: str, cause: CauseId) -> None:
    found = first(f"start\n{text}\n")
    assert found is not None
    assert found.cause == cause


def test_that_something_was_saved_is_no_error() -> None:
    assert first("Current checkpoint saved to results/epoch_5.pth\n") is None
    found = first("Checkpoint of another model: shapes differ\n")
    assert found is not None
    assert found.cause == "checkpoint_corrupt_or_mismatch"


def test_a_call_over_the_network_that_failed_in_the_last_line() -> None:
    found = first(
        f'{BARS}{STAMP}W a/master.cc:159] RPC failed with status = "Unavailable: closed"\n'
    )
    assert found is not None
    assert (found.cause, found.confidence < 0.5) == ("worker_lost", True)


def test_an_exit_code_that_a_launcher_prints_may_be_of_any_end() -> None:
    told = first(BARS + "replica 0 exited with a non-zero status of 1\n")
    assert told is not None
    assert told.cause == "unknown"
    assert "own log" in told.advice[0]


def test_a_sentence_within_long_output_is_no_report_of_a_hang() -> None:
    said = "The model is still stuck"
    output = "\n".join(f"sentence {at}" for at in range(80))
    assert first(said)
    assert first(f"{said}\n{output}") is None


_NO_PORT = (
    "E0727 11:38:35.762428930   22857 tcp_server_posix.c:284]     bind addr=[::]:2223: "
    "Address already in use\n"
)


def test_a_port_that_is_taken_explains_the_crash_after_it() -> None:
    found = first(f"{_NO_PORT}srun: error: n25: task 0: Segmentation fault\n")
    assert found is not None
    assert found.cause == "user_code_error"
    assert "port" in found.summary
    assert "2223" in found.evidence[0].text


def test_the_port_is_told_by_a_server_of_http2_too() -> None:
    said = '"description":"OS Error","os_error":"Address already in use","syscall":"bind"'
    found = first(f'E0512 14:47:28.1 140 server_chttp2.c:159] {{"file_line":125,{said}}}\n')
    assert found is not None
    assert (found.cause, "port" in found.summary) == ("user_code_error", True)


def test_a_connection_that_failed_tells_which_task_was_lost() -> None:
    said = "I0815 03:11:02.1 91 subchannel.cc:1000] Connect failed: UNKNOWN: refused\n"
    found = first(f"{BARS}{said}")
    assert found is not None
    assert found.cause == "worker_lost"


def test_a_server_that_took_another_port_went_on() -> None:
    found = first(f"{BARS}{_NO_PORT}8/8 - 2s - loss: 0.7\nEpoch 2/3\n1/8 - 1s - loss: 0.6\n")
    assert found is None or found.cause != "user_code_error"


def test_the_map_of_a_full_allocator_is_enough_where_the_exception_is_cut_off() -> None:
    full = f"{STAMP}W x/bfc_allocator.cc:468] **{'_' * 98}\n"
    cut = 'Traceback (most recent call last):\n  File "rnn.py", line 4, in <module>\n    fit(x)\n'
    found = first(full + cut)
    assert found is not None
    assert found.cause == "gpu_oom"


def test_on_windows_the_event_viewer_is_where_a_crash_is_told() -> None:
    for code, word in (("-1073741819 (0xC0000005)", "Event Viewer"), ("139", "dmesg")):
        found = first(f"Process finished with exit code {code}\n")
        assert found is not None
        assert found.cause == "native_crash"
        assert any(word in line for line in found.advice)
