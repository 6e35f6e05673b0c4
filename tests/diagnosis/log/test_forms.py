"""Forms in which launchers, services and other libraries print an end or an error."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, output
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
_TOO_LATE = "RuntimeError: Collective ops must be configured at program startup"
_AT_A_PROMPT = "(env) ada@box:~/upload$ python test.py --saved_model='udr_1/model_49600.ckpt'\n"
_STOPPED = "1848/1875 [====>.] - ETA: 0s - loss: 0.1\n{}\n1875/1875 [====] - 2s - loss: 0.1\n"
_BY_CALLBACK: CauseId = "early_stopping_or_callback_stop"


def _cause(text: str) -> CauseId:
    found = findings(Ending(parse(output.clean(text))))
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
    ],
)
def test_the_cause_is_named_in_this_form(text: str, cause: CauseId) -> None:
    assert _cause(text) == cause


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
