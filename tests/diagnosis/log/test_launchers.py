"""Logs of several tasks: the one that failed first counts, not what a launcher did after it."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

_EPOCH = "Epoch 1/10\n100/100 [======] - 9s 90ms/step - loss: 0.9\n"
_FRAMES = (
    'Traceback (most recent call last):\n  File "train.py", line 40, in <module>\n    fit(x)\n'
)
_KEY = f"{_FRAMES}KeyError: 'label_7'\n"
_MEMORY = (
    f"{_FRAMES}tensorflow.python.framework.errors_impl.ResourceExhaustedError: OOM when allocating "
    "tensor with shape[64,256,56,56] on /job:localhost/device:GPU:0 by allocator GPU_0_bfc\n"
)
_SHUT_DOWN = (
    f"{_FRAMES}tensorflow.python.framework.errors_impl.UnknownError: Horovod has been shut down. "
    "This was caused by an exception on one of the ranks.\n"
)
_CANCELLED = "slurmstepd: error: *** STEP 8.0 ON n01 CANCELLED AT 2023-05-05T10:10:10 ***\n"
_REST_ENDED = f"srun: Terminating StepId=8.0\n{_CANCELLED}srun: error: n01: task 0: Terminated\n"
_FAILED = f"srun: error: n02: task 1: Exited with exit code 1\n{_REST_ENDED}"
_PRIMARY = (
    "Primary job  terminated normally, but 1 process returned\na non-zero exit code. Per "
    "user-direction, the job has been aborted.\n  Process name: [[4711,1],1]\n  Exit code:    1\n"
)
_HOROVODRUN = (
    "Process 1 exit with status code {}.\n"
    "Terminating remaining workers after failure of Process 1.\n"
    "Process 0 exit with status code 143.\n"
)
_ELASTIC = (
    f"{_FRAMES}RuntimeError: Horovod detected that one or more processes exited with non-zero "
    "status, thus causing the job to be terminated. The first process to do so was:\n"
    "Process name: worker-1[0]\nExit code: 137\n"
)
_NOT_STARTED = (
    "ORTE was unable to reliably start one or more daemons.\n"
    "This usually is caused by:\n* not finding the required libraries and/or binaries\n"
)
_SSH = "mpi@worker-1: Permission denied (publickey,password).\n"
_KUBECTL = "Unable to connect to the server: dial tcp 10.0.0.1:443: i/o timeout\n"


def _of(task: str, text: str) -> str:
    return "".join(f"{task}{line}\n" for line in text.splitlines())


_THREADS = (
    "Exception in thread NetStatThr:\nTraceback (most recent call last):\n"
    '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n'
    "Exception in thread IntMsgThr:\nTraceback (most recent call last):\n"
    '  File "/usr/lib/python3.11/threading.py", line 1045, in _bootstrap_inner\n'
    "    self.run()\nBrokenPipeError: [Errno 32] Broken pipe\n"
)
_TIME_IS_UP = (
    "slurmstepd: error: *** JOB 8 ON n01 CANCELLED AT 2023-05-05T10:10:10 DUE TO TIME LIMIT ***\n"
)


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_of("[1,1]<stderr>:", _MEMORY) + _of("[1,0]<stderr>:", _SHUT_DOWN) + _PRIMARY, "gpu_oom"),
        (_of("[1,0]<stderr>:", _SHUT_DOWN) + _of("[1,1]<stderr>:", _MEMORY) + _PRIMARY, "gpu_oom"),
        # srun ends a step as soon as one of its tasks has failed
        (_of("1: ", _KEY) + _FAILED, "user_code_error"),
        (_MEMORY + _FAILED, "gpu_oom"),
        (f"srun: error: n02: task 1: Segmentation fault\n{_REST_ENDED}", "native_crash"),
        (f"srun: error: n02: task 1: Killed\n{_REST_ENDED}", "killed_from_outside"),
        (f"^Csrun: sending Ctrl-C to StepId=8.0\n{_CANCELLED}", "user_interrupt"),
        (_FAILED, "unknown"),
        (_CANCELLED + "srun: error: n01: task 0: Terminated\n", "preempted_or_terminated"),
        (_HOROVODRUN.format(137), "killed_from_outside"),
        (_of("[0]<stderr>:", _SHUT_DOWN) + _HOROVODRUN.format(137), "killed_from_outside"),
        (_of("[0]<stderr>:", _SHUT_DOWN) + _HOROVODRUN.format(1), "worker_lost"),
        (_ELASTIC, "killed_from_outside"),
        # the others waited for the one that failed, until the time was up
        (_of("1: ", _KEY) + _TIME_IS_UP, "user_code_error"),
        (_KEY + "\nFalling back to defaults\n" + _TIME_IS_UP, "time_limit"),
        (_KEY + _EPOCH.replace("1/10", "2/10") + _TIME_IS_UP, "time_limit"),
        # threads that are left behind fail at the end of the script
        (_MEMORY + _THREADS, "gpu_oom"),
        (_KEY + "Error in atexit._run_exitfuncs:\n" + _MEMORY, "user_code_error"),
        # a launcher that could not start its tasks: what stands above it
        (_SSH + _NOT_STARTED, "permission_or_readonly"),
        (_KUBECTL + _NOT_STARTED, "network_or_download_failure"),
        (_NOT_STARTED, "worker_lost"),
    ],
)
def test_the_task_that_failed_first_is_the_cause(text: str, cause: CauseId) -> None:
    found = findings(Ending(parse(_EPOCH + text)))
    assert (found[0].cause if found else "unknown") == cause
