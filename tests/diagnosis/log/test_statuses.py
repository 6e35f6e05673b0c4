"""How a process ended, in the words of those who started it."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

BARS = "Epoch 1/3\n8/8 - 1s - loss: 0.9\nEpoch 2/3\n5/8 - 1s - loss: 0.8\n"
HEADER = 'Traceback (most recent call last):\n  File "/app/run.py", line 8, in main\n    go()\n'
SAGEMAKER = "sagemaker.exceptions.UnexpectedStatusException: Error for Training job a: Failed. "
WORKER = HEADER + "RuntimeError: DataLoader worker (pid 9) is killed by signal: {}. \n"
JOINT = "\nThe above exception was the direct cause of the following exception:\n\n"
GONE = HEADER + "RuntimeError: DataLoader worker (pid(s) 9) exited unexpectedly\n"
MAC = "libc++abi: terminating due to uncaught exception of type std::runtime_error: {}\n"
MESSAGE = "Job a failed: the main process exited with code {}"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("srun: error: c002: task 0: Killed\nsrun: Force Terminated\n", "killed_from_outside"),
        ("    [h6:7661] Signal: Segmentation fault (11)\n    [h6:7661] [ 0] a\n", "native_crash"),
        ("srun: error: nid001: tasks 0-3,7: Segmentation fault (core dumped)\n", "native_crash"),
        ("srun: error: gpu01: task 0: Out Of Memory\n", "host_oom_killed"),
        ("then it crashes with a Segmentation fault (core dumpted)\n", "native_crash"),
        (HEADER + SAGEMAKER + "Reason: AlgorithmError: Exit Code: 139\n", "native_crash"),
        (HEADER + SAGEMAKER + "Reason: AlgorithmError: Exit Code: 1\n", "user_code_error"),
        (HEADER + f"mylib.JobFailed: {MESSAGE.format(137)}\n", "killed_from_outside"),
        (WORKER.format("Killed"), "killed_from_outside"),
        (WORKER.format("Segmentation fault"), "native_crash"),
        (WORKER.format("Killed") + JOINT + GONE, "killed_from_outside"),
        (BARS + "  912 Illegal instruction     (core dumped) python a.py\n", "illegal_instruction"),
        (BARS + "User defined signal 2\n", "preempted_or_terminated"),
        ("rank 6 failed cmd ['python', 'train.py'] code -6 log workerlog.6\n", "native_crash"),
        ("The replica master 0 ran out-of-memory and exited with a non-zero status of 9\n",
         "host_oom_killed"),
        (("(raylet) E 9] (raylet) m.cc:3: 2 Workers (tasks / actors) killed due to memory pressure "
         "(OOM), 0 Workers crashed\n"), "host_oom_killed"),
        ("W0611 poll.py:9] The TPU b'mine-3' is in state PREEMPTED.\n", "preempted_or_terminated"),
        ("logging.cc:317: *** SIGTERM received at time=1642268209\n", "preempted_or_terminated"),
        ("logging.cc:317: *** SIGSEGV received at time=1642268209\n", "native_crash"),
        ("W12 init.cc:205] *** SIGSEGV (@0x19) received by PID 11 (TID 0x7f)\n", "native_crash"),
        (HEADER + "CalledProcessError: returned exit\nstatus 3221225477.\n", "native_crash"),
        (MAC.format("[METAL] failed: Insufficient Memory (0008:kIOGPU)"), "gpu_oom"),
        (MAC.format("no such thing"), "native_crash"),
        (HEADER + "ValueError: a code of 139 is not allowed here\n", "user_code_error"),
    ],
)  # fmt: skip
def test_cause(text: str, cause: CauseId) -> None:
    assert findings(Ending(parse(BARS + text)))[0].cause == cause


def test_who_only_tells_of_an_exit_gives_way_to_the_error_of_the_script() -> None:
    own = HEADER + "OSError: [Errno 28] No space left on device\n"
    told = findings(Ending(parse(BARS + own + HEADER + f"mylib.JobFailed: {MESSAGE.format(1)}\n")))
    assert told[0].cause == "disk_full"


@pytest.mark.parametrize(
    "line",
    [
        "ERROR: Job failed: execution took longer than 1h0m0s seconds",
        "##[error]The action 'train' has timed out after 60 minutes.",
        "Build timed out (after 90 minutes). Marking the build as aborted.",
        "##[error]The job running on agent Hosted 2 ran longer than the maximum of 60 minutes.",
        "The job running on runner 7 has exceeded the maximum execution time of 360 minutes.",
    ],
)
def test_services_that_build_have_time_limits(line: str) -> None:
    assert findings(Ending(parse(f"{BARS}{line}\n")))[0].cause == "time_limit"


def test_a_slow_step_is_no_time_limit() -> None:
    slow = "WARNING: step 12 took longer than 500 ms\nstep 13: worker 2 timed out after 3 s\n"
    assert findings(Ending(parse(BARS + slow))) == []


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("EC2 Spot Instance interruption notice: action=terminate", "preempted_or_terminated"),
        ("the VM got a preemption notice", "preempted_or_terminated"),
        ("watching for a spot instance interruption notice", "unknown"),
        ("no instance termination notice so far", "unknown"),
    ],
)  # fmt: skip
def test_the_cloud_s_notice(line: str, cause: CauseId) -> None:
    found = findings(Ending(parse(f"{BARS}{line}\n")))
    assert (found[0].cause if found else "unknown") == cause
