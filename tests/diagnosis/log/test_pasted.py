"""Logs as people paste them: cut off, with notes around them, or healthy with warnings."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Finding
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

FRAME = 'Traceback (most recent call last):\n  File "{}", line 3, in {}\n    run()\n'
OWN = FRAME.format("train.py", "main")
LIBRARY = FRAME.format("/usr/lib/python3/dist-packages/a/b.py", "call")
VERBOSE_2 = "Epoch 1/2\n71s - loss: 0.5 - acc: 0.7\nEpoch 2/2\n70s - loss: 0.4 - acc: 0.8\n"
GRAPPLER = "E tensorflow/core/meta_optimizer.cc:561] remapper failed: Invalid argument: a shape\n"
OOM_KILL = "slurmstepd: error: Detected 1 oom-kill event(s) in StepId=191.batch cgroup.\n"
STEPS = "Epoch: [0][41/1736] Loss 0.58\nEpoch: [0][44/1736] Loss 0.55\n"
IN_USER_CODE = (
    "ValueError: in user code:\n\n"
    '    File "/usr/lib/python3/dist-packages/keras/engine/input_spec.py", line 232, '
    "in assert_input_compatibility\n        raise ValueError(\n"
)


SEGFAULTS = (
    "[box:02773] *** Process received signal ***\n[box:02773] Signal: Segmentation fault (11)\n"
    "[box:02776] *** Process received signal ***\n[box:02776] Signal: Segmentation fault (11)\n"
)
TIME_IS_UP = (
    "slurmstepd: error: *** JOB 12 ON n1 CANCELLED AT 2021-02-19T13:55:57\nDUE TO TIME LIMIT ***"
)
LISTING = (
    OWN.replace("run()", "fit()") + "MemoryError: Unable to allocate 12 GiB for an array\n"
    "wandb: done"
)
HINT = (
    "E a/model.ckpt-51.tempstate13871; No space left on device\n"
    "E Hint: If you want to see a list of allocated tensors when OOM happens, add an option.\n"
)


def first(text: str) -> Finding | None:
    return next(iter(findings(Ending(parse(text)))), None)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        # who raised it tells, where the message is cut off
        (OWN + IN_USER_CODE, "data_error"),
        # the message outranks a class that says little
        (OWN + "StopIteration: [Errno 2] No such file or directory: 'a/950742.jpg'", "data_error"),
        (
            OWN + "FileNotFoundError: [Errno 2] No such file or directory: '/a/.keras/train.txt'",
            "data_error",
        ),
        (
            OWN + "tensorflow.errors.NotFoundError: dlopen(a/mpi_lib.so, 0x0006): weak-def symbol "
            "not found '__ZN3xla'",
            "dependency_or_import_error",
        ),
        (
            OWN + "tensorflow.errors.InternalError: CUDA runtime implicit initialization on GPU:0 "
            "failed. Status: out of memory",
            "gpu_oom",
        ),
        # whoever says that memory was short explains a bare SIGKILL, wherever it stands
        (OOM_KILL + STEPS + "Killed\n", "host_oom_killed"),
        (STEPS + "Killed\n", "killed_from_outside"),
        # an error that the program went on after accuses nobody
        (GRAPPLER + "".join(f"sample {n} of 9: right\n" for n in range(9)), "unknown"),
        (GRAPPLER, "data_error"),
        # what a launcher, a page or an editor did to the lines
        (SEGFAULTS, "native_crash"),
        (TIME_IS_UP, "time_limit"),
        (
            "".join(f"{n:4d}  {line}\n" for n, line in enumerate(LISTING.split("\n"), 1)),
            "host_alloc_failure",
        ),
        (HINT, "disk_full"),
        ('"Allocation of 171988 exceeds 10% of free system memory. Killed"', "killed_from_outside"),
        # the line of code above a lone exception stands for its frames
        (
            "model.load_weights(a)\n\nValueError: Shapes (192, 320) and (192, 35) are incompatible",
            "checkpoint_corrupt_or_mismatch",
        ),
        ("model.fit(x, y)\n\nValueError: Shapes (9, 3) and (9, 4) are incompatible", "data_error"),
        ("main()\nRuntimeError: it did not work", "unknown"),
        # notes about errors are no log
        (
            "3. Process finished with exit code 137\n4. Could not load 'libcublas.so'\n",
            "unknown",
        ),
        ("Process finished with exit code 137\n", "killed_from_outside"),
        # an operation that failed for no reason that anybody knows is not the script's fault
        (LIBRARY + "tensorflow.errors.InternalError: it did not work", "unknown"),
        ("RuntimeError: it did not work", "unknown"),
        (OWN + "RuntimeError: it did not work", "user_code_error"),
        # what the script itself produces data with was called by the library
        (
            LIBRARY + '  File "/usr/lib/python3/dist-packages/tensorflow/x.py", line 9, in '
            'generator_py_func\n    next(it)\n  File "rows.py", line 2, in rows\n    go()\n'
            "struct.error: unpack requires a buffer of 4 bytes",
            "data_error",
        ),
        (
            LIBRARY.replace("in call", "in _peek_and_restore")
            + '  File "train.py", line 4, in rows\n    image = Image.open(path)\n  File "/usr/l',
            "data_error",
        ),
        # ends without an error, in the words of Keras, of loops, and of notebooks
        (VERBOSE_2, "completed_normally"),
        ("Epoch 1/2\nLoss: 0.5\nEpoch 2/2\nLoss: 0.4\n", "completed_normally"),
        ("9/9 [====] - 1s - loss: 0.5\nCPU times: user 1s\nWall time: 1s\n", "completed_normally"),
        ("Epoch 1/2\nLoss: 0.5\n", "unknown"),
    ],
)
def test_cause(text: str, cause: CauseId) -> None:
    found = first(text)
    assert (found.cause if found else "unknown") == cause


def test_what_no_rule_knows_is_shown() -> None:
    found = first(LIBRARY + "tensorflow.errors.InternalError: it did not work")
    assert found is not None
    assert "it did not work" in found.summary
    assert found.confidence < 0.5
