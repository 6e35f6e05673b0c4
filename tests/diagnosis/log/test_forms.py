"""Forms in which launchers, services and other libraries print an end or an error."""

from __future__ import annotations

from pathlib import Path

import pytest

from pitstop.diagnosis import CauseId, diagnose, load
from pitstop.diagnosis.log import lines
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

_NUMPY = "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 16.0 GiB for an array"
_IN_A_MAP = """\
Traceback (most recent call last):

  File "/env/site-packages/tensorflow/python/ops/script_ops.py", line 206, in __call__
    ret = func(*args)

  File "/home/ada/input.py", line 21, in check
    raise AssertionError

AssertionError: sep[b','] maybe invalid: field_num=7, required_num=131
"""
_INTERRUPTED = """\
    Epoch 1/20
      700/40000 [....] - ETA: 2:38 - loss: 14.5063

    -------------------------------------------------

    KeyboardInterrupt                         Traceback (most recent call last)

    <ipython-input-1-686f> in <module>()
          1 history = model.fit(x, y,
    ----> 2                     epochs=20)
"""
_END_OF_QUEUE = """\
iteration: 1029000 loss: 0.0007 lr: 0.001
iteration: 1030000 loss: 0.0007 lr: 0.001
Exception in thread Thread-1:
Traceback (most recent call last):
  File "/env/site-packages/tensorflow_core/python/client/session.py", line 1443, in _run
    run_metadata)
tensorflow.python.framework.errors_impl.CancelledError: Enqueue operation was cancelled
\t [[{{node fifo_queue_enqueue}}]]
"""
_REFUSED = (
    "tensorflow.python.framework.errors_impl.UnavailableError: req_id: 5F22, http status code: 400,"
    " error code: InvalidRequest, message: It is forbidden to copy appendable object"
)
_MPICH = """\
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   EXIT CODE: {code}
=   CLEANING UP REMAINING PROCESSES
APPLICATION TERMINATED WITH THE EXIT STRING: {word} (signal {number})
"""
_NO_KERNEL = """\
tensorflow.python.framework.errors_impl.UnimplementedError: GetChildren not implemented
Failed to execute system command. (exit code: 123.)
"""
_GRAPPLER = """\
Epoch 1/100
E tensorflow/core/grappler/optimizers/meta_optimizer.cc:502] layout failed: Invalid argument: size 1
"""
_IN_FIT = """\
Traceback (most recent call last):
  File "train.py", line 9, in <module>
    model.fit(x)
"""
_OP_FAILED = """\
W tensorflow/core/framework/op_kernel.cc:1818] OP_REQUIRES failed at depthwise_conv_op.cc:417 : \
RESOURCE_EXHAUSTED: OOM when allocating tensor with shape[64,128] on /device:GPU:0 by allocator a
tensorflow.python.framework.errors_impl.ResourceExhaustedError: Exception encountered when \
calling layer "depthwise_conv2d_43" (type DepthwiseConv2D).
"""
_DEAD_KERNEL = """\
Traceback (most recent call last):
  File "/opt/lib/python3.10/site-packages/nbclient/client.py", line 841, in async_execute_cell
    exec_reply = await self.task_poll_for_reply
asyncio.exceptions.CancelledError

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/opt/lib/python3.10/site-packages/nbclient/client.py", line 845, in async_execute_cell
    raise DeadKernelError("Kernel died")
nbclient.exceptions.DeadKernelError: Kernel died
"""
_BLAS = """\
OpenBLAS blas_thread_init: pthread_create failed: Resource temporarily unavailable
Traceback (most recent call last):
  File "train.py", line 1, in <module>
    import numpy as np
KeyboardInterrupt
"""
_AND_A_LAUNCHER = """\
Traceback (most recent call last):
  File "/opt/ml/code/train.py", line 19, in load
    name = folder.split('/')[2]
AttributeError: 'NoneType' object has no attribute 'split'
2024-09-08 10:12:58,201 sagemaker-training-toolkit ERROR    ExecuteUserScriptError:
ExitCode 1
"""
_NO_TRIAL = """\
Traceback (most recent call last):
  File "/opt/tune/search.py", line 88, in run_trial
    model = hypermodel.build(hp)
ValueError: Negative dimension size caused by subtracting 3 from 2
Trial 2 Complete [00h 01m 12s]
Trial 3 Complete [00h 01m 10s]
INFO:tensorflow:Oracle triggered exit
"""
_DLL = """\
Could not locate zlibwapi.dll. Please make sure it is in your library path!

Process finished with exit code -1073740791 (0xC0000409)
"""
_CANCELLED = (
    "##[error]The runner has received a shutdown signal. This can happen when it is stopped.\n"
)
_TABLE = "NAME             READY   STATUS      RESTARTS   AGE\nworker-0   0/1     {}   2     12m\n"
_TOO_LATE = "RuntimeError: Collective ops must be configured at program startup"
_AT_A_PROMPT = "(env) ada@box:~/upload$ python test.py --saved_model='udr_1/model_49600.ckpt'\n"
_STOPPED = "1848/1875 [====>.] - ETA: 0s - loss: 0.1\n{}\n1875/1875 [====] - 2s - loss: 0.1\n"
_BY_CALLBACK: CauseId = "early_stopping_or_callback_stop"


def _cause(text: str) -> CauseId:
    found = findings(Ending(parse(lines.clean(text))))
    return found[0].cause if found else "unknown"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (f"{_NUMPY}\nsrun: error: n1: task 0: Exited with exit code 1\n", "host_alloc_failure"),
        (f"    {_NUMPY}\n    Command exited with non-zero status 1\n", "host_alloc_failure"),
        (_MPICH.format(code=135, word="Bus error", number=7), "native_crash"),
        (_MPICH.format(code=9, word="Killed", number=9), "killed_from_outside"),
        (_IN_A_MAP, "data_error"),
        (_INTERRUPTED, "user_interrupt"),
        (_TOO_LATE, "user_code_error"),
        (_AT_A_PROMPT, "unknown"),
        (_STOPPED.format("Reached 95% accuracy so cancelling training!"), _BY_CALLBACK),
        (_STOPPED.format("Loss is low so stopping the training"), _BY_CALLBACK),
        (_STOPPED.format("到達95%準確度,停止訓練!"), _BY_CALLBACK),
        (_STOPPED.format('print("Reached 95% accuracy so cancelling training!")'), "unknown"),
        (_END_OF_QUEUE, "unknown"),
        (_REFUSED, "unknown"),
        (_NO_KERNEL, "unknown"),
        (_GRAPPLER, "unknown"),
        (_OP_FAILED, "gpu_oom"),
        (_DEAD_KERNEL, "unknown"),
        (_BLAS, "thread_or_process_limit"),
        (_AND_A_LAUNCHER, "user_code_error"),
        (_NO_TRIAL, "completed_normally"),
        (_DLL, "gpu_driver_or_library"),
        (_CANCELLED, "preempted_or_terminated"),
        (_TABLE.format("OOMKilled"), "host_oom_killed"),
        (_TABLE.format("Evicted"), "preempted_or_terminated"),
        (_TABLE.format("Completed"), "completed_normally"),
        ("make: *** [train] Killed\n", "killed_from_outside"),
        ("make: *** [Makefile:12: train] Error 139\n", "native_crash"),
        (
            "512/900 [=>.] - loss: 2.6src/tcmalloc.cc:283] Attempt to free invalid pointer 0xc2\n",
            "native_crash",
        ),
        (
            "Spot interruption payload received: {'action': 'terminate'}\n",
            "preempted_or_terminated",
        ),
        ("INFO Node pool resized, 2 preempted VMs replaced\n", "unknown"),
        ("epoch=3 step=210 loss=0.40 mem=14.2G/16G (OOM risk: low)\n", "unknown"),
        ("[mpi] Task exited with return code 0\n", "completed_normally"),
        ("Task exited with return code 0\n3/8 - loss: 0.9\n", "unknown"),
        (
            "OSError: Unable to open file (truncated file: eof = 96)\n",
            "checkpoint_corrupt_or_mismatch",
        ),
    ],
)
def test_the_cause_is_named_in_this_form(text: str, cause: CauseId) -> None:
    assert _cause(text) == cause


def test_the_line_is_quoted_that_says_what_happened() -> None:
    text = (
        "Traceback (most recent call last):\n"
        '  File "train.py", line 9, in <module>\n    model.fit(x)\n'
        "tensorflow.python.framework.errors_impl.InternalError: Graph execution error:\n\n"
        "Detected at node 'Call_4' defined at (most recent call last):\nNode: 'Call_4'\n"
        "libdevice not found at ./libdevice.10.bc\n"
    )
    finding = findings(Ending(parse(text)))[0]
    assert finding.evidence[0].text == "line 8: libdevice not found at ./libdevice.10.bc"


def test_a_number_is_advised_once_and_an_array_of_numpy_is_no_batch(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text(f"{_NUMPY} with shape (18841, 512, 512) and data type float32\n")
    finding = diagnose(load.from_log(log)).finding
    assert finding is not None
    assert [each for each in finding.advice if "18841x512x512" in each] == [
        "One tensor of 18841x512x512 takes 19.8 GB."
    ]
    assert not any("batch of" in each for each in finding.advice)


@pytest.mark.parametrize(
    "message",
    [
        "Expected input data to be non-empty.",
        "Expect x to be a non-empty array or dataset.",
        "Asked to retrieve element 0, but the Sequence has length 0",
        "The PyDataset has length 0",
        "Unexpected result of `train_function` (Empty Logs). Please use run_eagerly",
        "With n_samples=0, test_size=0.2, the resulting train set will be empty.",
    ],
)
def test_an_input_without_anything_in_it_is_told(message: str) -> None:
    assert _cause(f"{_IN_FIT}ValueError: {message}\n") == "data_error"
