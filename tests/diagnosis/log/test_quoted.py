"""Logs that a page, a comment or a notebook's file quotes, or whose ends are cut off."""

from __future__ import annotations

import html
import json

import pytest

from pitstop.diagnosis import CauseId, output
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

_OOM = "OOM when allocating tensor with shape[64,512] and type float on device:GPU:0"
_FULL = f"""\
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    model.fit(x)
tensorflow.python.framework.errors_impl.ResourceExhaustedError: {_OOM}
"""
_CUT_CALLBACK = """\
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    model.fit(x, callbacks=[Log()])
  File "C:\\Users\\u\\env\\lib\\site-packages\\keras\\callbacks.py", line 76, in on_epoch_end
    callback.on_epoch_end(epoch, logs)
"""
_DOWNLOAD = """\
Traceback (most recent call last):
  File "/usr/lib/python3.9/http/client.py", line 946, in connect
    self.sock = self._create_connection(
  File "/usr/lib/python3.9/socket.py", line 844, in create_connection
    raise err
"""


def _cause(text: str) -> CauseId:
    found = findings(Ending(parse(output.clean(text))))
    return found[0].cause if found else "unknown"


def _before_each_line(mark: str, text: str) -> str:
    return "".join(f"{mark}{line}\n" for line in text.splitlines())


def _as_notebook(text: str) -> str:
    return "\n".join(f"      {json.dumps(line)}," for line in text.splitlines(keepends=True))


@pytest.mark.parametrize("mark", ["> ", ">> ", "> > ", "# ", "    ", "// ", " * ", "#    "])
def test_marks_of_quotations_are_read_through(mark: str) -> None:
    assert _cause(_before_each_line(mark, _FULL)) == "gpu_oom"


@pytest.mark.parametrize("written", [html.escape, _as_notebook, lambda text: f"<pre>{text}</pre>"])
def test_pages_and_notebooks_are_read_through(written: object) -> None:
    assert callable(written)
    assert _cause(written(_FULL)) == "gpu_oom"


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        (f"# ResourceExhaustedError: {_OOM}", "gpu_oom"),
        (f"2. ResourceExhaustedError: {_OOM}", "gpu_oom"),
        (f"**ResourceExhaustedError: {_OOM}**", "gpu_oom"),
        (f"and then I get this: `ResourceExhaustedError: {_OOM}`", "gpu_oom"),
        (f"{_OOM}\n/job:localhost by allocator GPU_0_bfc", "gpu_oom"),
        ("  # MemoryError: Unable to allocate 55.2 GiB for an array", "host_alloc_failure"),
        ("`ConnectionError: Couldn't reach https://a.org/b`", "network_or_download_failure"),
        (">> NameError: name 'bar' is not defined", "user_code_error"),
        ("size mismatch for a: copying a param with shape [1]", "checkpoint_corrupt_or_mismatch"),
        (
            "W tensorflow/core/op_kernel.cc:16] OP_REQUIRES failed : Not found: Key w/b not found",
            "checkpoint_corrupt_or_mismatch",
        ),
        ("tensorflow.python.framework.errors_impl.CancelledError: Cancelled", "worker_lost"),
        ("slurmstepd: error: *** STEP 4.0 CANCELLED ... DUE TO TIME LIMIT ***", "time_limit"),
        ("RuntimeError: DataLoader worker 2 is killed by signal: Bus error. ", "shm_exhausted"),
    ],
)
def test_a_lone_line_is_enough(line: str, cause: CauseId) -> None:
    assert _cause(line) == cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_CUT_CALLBACK, "callback_error"),
        (_DOWNLOAD, "network_or_download_failure"),
        (_FULL.partition("\n")[2], "gpu_oom"),
        (_CUT_CALLBACK.partition("\n")[2] + "KeyError: 'val_acc'\n", "callback_error"),
        (f"E: {_OOM}\n{_CUT_CALLBACK}", "gpu_oom"),
    ],
)
def test_ends_that_are_cut_off_are_made_up_for(text: str, cause: CauseId) -> None:
    assert _cause(text) == cause


_CELL = """\
/lib/python3.6/site-packages/keras/engine/training.py in fit(self, x)
    216         more()
--> 217         callbacks.on_epoch_end(epoch, logs)

/lib/python3.6/site-packages/keras/callbacks.py in on_epoch_end(self, epoch, logs)
--> 917         result = self.act()

"""
_RECORDS = """\
INFO:tensorflow:Error reported to Coordinator: <class 'tf.DataLossError'>, truncated record at 7
     [[Node: train_input/ReaderReadV2_1]]
INFO:tensorflow:model.ckpt-88649 is not in all_model_checkpoint_paths. Manually adding it.
"""
_LOST = """\
2023-05-25 11:10:57.9: E tensorflow/core/base.cc:249] StartAbort UNAVAILABLE: Socket closed
2023-05-25 11:10:58.0: F tensorflow/core/server.cc:103] Non-OK-status: Stop() status: UNIMPLEMENTED
Fatal Python error: Aborted
"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{_CELL}RuntimeError: it does not work\n", "callback_error"),
        ("AttributeError: 'Plot' object has no attribute 'on_train_batch_begin'", "callback_error"),
        (_RECORDS, "data_error"),
        (_LOST, "worker_lost"),
        ('""" Epoch 00012: early stopping', "early_stopping_or_callback_stop"),
        ("step 12, loss 1.2\nLoss diverged, stop training", "nan_loss"),
        ("the error `illegal instruction (core dumped)` is thrown.", "illegal_instruction"),
        ("ValueError: could not broadcast input array from shape (1,) into (2,)", "data_error"),
        ("UnpicklingError: Weights only load failed", "checkpoint_corrupt_or_mismatch"),
    ],
)
def test_who_says_it_and_where_counts(text: str, cause: CauseId) -> None:
    assert _cause(text) == cause


def _as_pod(line: str) -> str:
    return f"2026-01-02T03:04:05.123Z trainer-worker-0 tensorflow {line}\n"


@pytest.mark.parametrize("mark", ["# ", "    ", "> # "])
def test_marks_before_all_lines_are_no_part_of_them(mark: str) -> None:
    lines = "Epoch 1/3\n 2/30 - loss: 0.3\nKilled\nuser@box:~$\n"
    assert _cause(_before_each_line(mark, lines)) == "killed_from_outside"


def test_the_name_of_a_pod_before_all_lines_is_no_part_of_them() -> None:
    lines = ("Epoch 1/3", "loading", "free(): invalid pointer", "Aborted", "$ ", "bye")
    assert _cause("".join(map(_as_pod, lines))) == "native_crash"


def test_lines_that_all_say_the_same_are_not_taken_for_a_name() -> None:
    lines = "".join(_as_pod(f"Waiting for worker {i} to come") for i in range(8))
    assert _cause(lines) == "hang_or_stall"


def test_a_traceback_without_its_name_that_tells_nothing_accuses_nobody() -> None:
    assert _cause('Traceback (most recent call last):\n  File "a.py", line 1, in f\n') == "unknown"


def test_the_hook_of_an_input_is_no_callback() -> None:
    frames = _CUT_CALLBACK.replace("keras\\callbacks.py", "keras\\utils\\data_utils.py").replace(
        "in on_epoch_end", "in _run"
    )
    frames += '  File "data.py", line 3, in on_epoch_end\n    self.order[9]\n'
    assert _cause(f"{frames}KeyError: 9\n") == "user_code_error"
