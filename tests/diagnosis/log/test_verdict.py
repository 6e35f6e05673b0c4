"""What ended it, of all that a log tells: authority, order, victims, what was survived.

Texts of GPUs, schedulers and clusters are quoted from their documentation and from their users,
since none of them is here; `test_corpus.py` has logs of what can really be made to fail.
"""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Finding
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

BARS = "Epoch 1/3\n8/8 - 1s - loss: 0.9\nEpoch 2/3\n5/8 - 1s - loss: 0.8\n"
LATER = "6/8 - 1s - loss: 0.8\n7/8 - 1s - loss: 0.7\nEpoch 3/3\n2/8 - 1s - loss: 0.7\n"
DONE = "Epoch 3/3\n8/8 - 1s - loss: 0.7\n"


def traceback(title: str, frame: str = "main") -> str:
    return (
        "Traceback (most recent call last):\n"
        f'  File "/app/train.py", line 8, in {frame}\n    go()\n{title}\n'
    )


def torchrun(code: str, said: str) -> str:
    return (
        "ERROR:torch.distributed.elastic.multiprocessing.api:failed "
        f"(exitcode: {code}) local_rank: 1 (pid: 12) of binary: /usr/bin/python\n"
        + traceback(
            "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: \n"
            f"====\ntrain.py FAILED\n----\nRoot Cause (first observed failure):\n[0]:\n"
            f"  exitcode  : {code} (pid: 12)\n  traceback : {said}"
        )
    )


NCCL_TIMEOUT = (
    "[E ProcessGroupNCCL.cpp:458] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=9, OpType=ALLREDUCE, Timeout(ms)=1800000) ran for 1800001 milliseconds "
    "before timing out.\n"
)
OOM_TITLE = "torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB."

CASES: list[tuple[str, str, CauseId]] = [
    (
        "the end of what a full allocator lists",
        (
            "bfc_allocator.cc:1072] Sum Total of in-use chunks: 8.98GiB\n"
            "bfc_allocator.cc:1074] total_region_allocated_bytes_: 106 available bytes: 0\n"
        ),
        "gpu_oom",
    ),
    (
        "a class without its message, stuck to the head of its traceback",
        (
            "ResourceExhaustedErrorTraceback (most recent call last)\n"
            "/output/run.py in <module>()\n"
            "     40     model.fit(x, y,\n---> 42               verbose=1)\n"
        ),
        "gpu_oom",
    ),
    # a disk that was full is full
    (
        "what failed on a full disk",
        BARS
        + traceback("OSError: [Errno 28] No space left on device", "save")
        + traceback("AttributeError: module 'report' has no attribute 'Page'", "write"),
        "disk_full",
    ),
    (
        "a disk that was full before epochs that followed",
        BARS
        + traceback("OSError: [Errno 28] No space left on device", "save")
        + LATER
        + traceback("AttributeError: module 'report' has no attribute 'Page'", "write"),
        "user_code_error",
    ),
    (
        "the peer of a full disk",
        (
            '[rank0]:   File "/app/torch/serialization.py", line 7, in save\n[rank0]:     write()\n'
            "[rank0]: RuntimeError: [enforce fail at inline_container.cc:6] . unexpected pos 9\n"
            "[rank1]: [gloo/transport/tcp/pair.cc:5] Connection closed by peer [10.0.0.2]:333\n"
        ),
        "disk_full",
    ),
    (
        "cells of a notebook that miss what another was to make",
        traceback("URLError: <urlopen error [Errno -3] Temporary failure in name resolution>")
        + "cell 9\n"
        + traceback("NameError: name 'net' is not defined")
        + "cell 11\n"
        + traceback("NameError: name 'scores' is not defined"),
        "network_or_download_failure",
    ),
    (
        "a name that is missing",
        BARS + traceback("NameError: name 'x' is not defined"),
        "user_code_error",
    ),
    # of the GPU's libraries
    (
        "a kernel that cannot be compiled",
        traceback(
            "mxnet.base.MXNetError: x.cu:6: Check failed: r == NVRTC_SUCCESS (6 vs. 0) : "
            "NVRTC Compilation failed."
        ),
        "gpu_driver_or_library",
    ),
    (
        "an allocator of another program",
        (
            "LOG (train:Allocate():a.cc:5) About to allocate new memory region\n"
            "ERROR (train:Allocate():a.cc:9) Failed to allocate a memory region of 82 bytes. "
            "Possibly this is due to sharing the GPU.\n"
        ),
        "gpu_oom",
    ),
    (
        "a library of the driver that lacks a function",
        NCCL_TIMEOUT + "api.cpp:2, please report. /lib64/libnvidia-ml.so.1: undefined symbol: "
        "nvmlDeviceGetLink\n",
        "gpu_driver_or_library",
    ),
    (
        "NCCL without a connection",
        BARS + "terminate called after throwing an instance of 'std::runtime_error'\n"
        "  what():  NCCL error: unhandled system error, NCCL version 2.10.3\n"
        "ncclSystemError: System call (e.g. socket, malloc) or external library call failed.\n",
        "worker_lost",
    ),
    (
        "memory of the GPU at the end of a copy to it",
        BARS
        + traceback(
            "tensorflow.python.framework.errors_impl.ResourceExhaustedError: SameWorkerRecvDone "
            "unable to allocate output tensor. Key: /device:CPU:0;a;/job:b/device:GPU:0;"
            "edge_9_IteratorGetNext;0:0\n\t [[{{node IteratorGetNext/_2}}]]"
        ),
        "gpu_oom",
    ),
    # who ended it says so
    (
        "Slurm, time",
        BARS + "slurmstepd: error: *** JOB 7 ON node1 CANCELLED AT 2026-01-02T03:04:05 DUE TO "
        "TIME LIMIT ***\n" + traceback("KeyboardInterrupt"),
        "time_limit",
    ),
    (
        "Slurm, scancel",
        BARS + "slurmstepd: error: *** STEP 7.0 ON node1 CANCELLED AT 2026-01-02T03:04:05 ***\n",
        "preempted_or_terminated",
    ),
    (
        "Slurm, memory, while a traceback stands there too",
        BARS
        + traceback("RuntimeError: DataLoader worker (pid 9) exited unexpectedly")
        + "slurmstepd: error: Detected 1 oom_kill event in StepId=7.0.\n",
        "host_oom_killed",
    ),
    ("PBS, time", BARS + "=>> PBS: job killed: walltime 3612 exceeded limit 3600\n", "time_limit"),
    ("PBS, memory", "=>> PBS: job killed: mem 9kb exceeded limit 8kb\n", "host_oom_killed"),
    ("LSF, time", "TERM_RUNLIMIT: job killed after reaching LSF run time limit.\n", "time_limit"),
    ("LSF, memory", "TERM_MEMLIMIT: job killed after reaching LSF limit.\n", "host_oom_killed"),
    (
        "Kubernetes, memory",
        "    Last State:  Terminated\n      Reason:  OOMKilled\n      Exit Code:  137\n",
        "host_oom_killed",
    ),
    (
        "Kubernetes, an honest 137",
        "    Last State:  Terminated\n      Reason:  Error\n      Exit Code:  137\n",
        "killed_from_outside",
    ),
    ("docker, not for memory", '"OOMKilled": false,\n"ExitCode": 137\n', "killed_from_outside"),
    ("Kubernetes, deadline", "  Reason:  DeadlineExceeded\n", "time_limit"),
    (
        "kernel log below",
        BARS + "Killed\n[7.1] Memory cgroup out of memory: Killed process 12 (python) \n",
        "host_oom_killed",
    ),
    (
        "the kernel killed a neighbour",
        BARS
        + "[7.1] Out of memory: Killed process 12 (mysqld) total-vm:1kB\n"
        + traceback("ValueError: a"),
        "user_code_error",
    ),
    # status alone
    ("shell", BARS + "train.sh: line 3:  4711 Killed    python train.py\n", "killed_from_outside"),
    ("zsh", BARS + "zsh: killed     python train.py\n", "killed_from_outside"),
    ("zsh, crash", BARS + "zsh: segmentation fault  python train.py\n", "native_crash"),
    (
        "a library of the GPU failed, and then all",
        BARS + "2018-10-31 13:54:43.930905: E tensorflow/stream_executor/cuda/cuda_dnn.cc:352] "
        "Could not create cudnn handle: CUDNN_STATUS_NOT_INITIALIZED\n"
        "2018-10-31 13:54:43.931008: E tensorflow/stream_executor/cuda/cuda_dnn.cc:360] "
        "Possibly insufficient driver version: 384.111.0\n"
        "Segmentation fault (core dumped)\n",
        "gpu_driver_or_library",
    ),
    ("bash, crash", BARS + "Segmentation fault (core dumped)\n", "native_crash"),
    ("bash, SIGTERM", BARS + "Terminated\n", "preempted_or_terminated"),
    (
        "an IDE",
        "Process finished with exit code 139 (interrupted by signal 11: SIGSEGV)\n",
        "native_crash",
    ),
    ("Windows", "Process finished with exit code -1073741819 (0xC0000005)\n", "native_crash"),
    (
        "systemd",
        "u.service: Main process exited, code=killed, status=9/KILL\n",
        "killed_from_outside",
    ),
    (
        "MPI",
        "mpirun noticed that process rank 1 exited on signal 9 (Killed).\n",
        "killed_from_outside",
    ),
    # victims and culprits
    (
        "torchrun, killed",
        BARS + torchrun("-9", "Signal 9 (SIGKILL) received"),
        "killed_from_outside",
    ),
    ("torchrun, crash", BARS + torchrun("-11", "Signal 11 (SIGSEGV)"), "native_crash"),
    ("torchrun, its child said why", traceback(OOM_TITLE) + torchrun("1", "see above"), "gpu_oom"),
    (
        "a rank failed, the others lost it",
        "[rank1]: " + traceback("ValueError: a").strip().replace("\n", "\n[rank1]: ") + "\n"
        "[rank0]: "
        + traceback("RuntimeError: [gloo/tcp/pair.cc:1] Connection closed by peer")
        .strip()
        .replace("\n", "\n[rank0]: ")
        + "\n",
        "user_code_error",
    ),
    ("NCCL watchdog", BARS + NCCL_TIMEOUT, "hang_or_stall"),
    (
        "NCCL watchdog, and the abort that it is",
        NCCL_TIMEOUT + "terminate called after throwing an instance of 'c10::DistBackendError'\n"
        f"  what():  {NCCL_TIMEOUT}Aborted (core dumped)\n",
        "hang_or_stall",
    ),
    (
        "a rank failed, and NCCL waited for it",
        traceback("FileNotFoundError: [Errno 2] No such file: 'a.bin'") + NCCL_TIMEOUT,
        "data_error",
    ),
    (
        "a peer of TensorFlow",
        traceback(
            "tensorflow.python.framework.errors_impl.UnavailableError: Collective ops is aborted "
            "by: Task /job:worker/task:1 heartbeat timeout."
        ),
        "worker_lost",
    ),
    (
        "Ray, memory",
        traceback(
            "ray.exceptions.OutOfMemoryError: Task was killed due to the node running low on "
            "memory."
        ),
        "host_oom_killed",
    ),
    # native code that says why
    (
        "C++, no memory",
        BARS + "terminate called after throwing an instance of 'std::bad_alloc'\n"
        "  what():  std::bad_alloc\nAborted (core dumped)\n",
        "host_alloc_failure",
    ),
    (
        "C++, CUDA",
        (
            "terminate called after throwing an instance of 'c10::Error'\n"
            "  what():  CUDA error: an illegal memory access was encountered\nAborted\n"
        ),
        "gpu_driver_or_library",
    ),
    (
        "TensorFlow, fatal",
        (
            "2026-01-02 03:04:05.6: F tensorflow/stream_executor/cuda.cc:27] Check failed: "
            "CUDNN_STATUS_SUCCESS == status (7 vs. 0)Failed to set cuDNN stream.\nAborted\n"
        ),
        "gpu_driver_or_library",
    ),
    (
        "TensorFlow, built for another processor",
        (
            "2026-01-02 03:04:05.6: F tensorflow/core/x.cc:37] The TensorFlow library "
            "was compiled to use AVX instructions, but these aren't available on your machine.\n"
            "Aborted (core dumped)\n"
        ),
        "illegal_instruction",
    ),
    ("glibc", "double free or corruption (!prev)\nAborted (core dumped)\n", "native_crash"),
    # GPUs
    ("PyTorch, GPU memory", BARS + traceback(OOM_TITLE), "gpu_oom"),
    (
        "cuBLAS, but the GPU was full",
        "2026-01-02 03:04:05.6: E x/cuda_driver.cc:8] failed to allocate 8.41G from device: "
        "CUDA_ERROR_OUT_OF_MEMORY: out of memory\n"
        + traceback("tensorflow.errors.InternalError: Blas GEMM launch failed : a.shape=(1, 2)"),
        "gpu_oom",
    ),
    (
        "memory of no named device, where GPUs are",
        "2026-01-02 03:04:05.6: I x/gpu_device.cc:1115] Created device GPU:0 with 10478 MB\n"
        + traceback("tensorflow.errors.ResourceExhaustedError: failed to allocate memory [Op:A]"),
        "gpu_oom",
    ),
    (
        "memory of no named device",
        traceback("tensorflow.errors.ResourceExhaustedError: failed to allocate memory [Op:A]"),
        "gpu_oom",
    ),
    (
        "memory of no named device, where no GPU is",
        "2026-01-02 03:04:05.6: I x/cudart_stub.cc:29] GPU will not be used.\n"
        + traceback("tensorflow.errors.ResourceExhaustedError: failed to allocate memory [Op:A]"),
        "host_alloc_failure",
    ),
    (
        "Xid",
        BARS + "NVRM: Xid (PCI:0000:3b:00): 79, pid=1, GPU has fallen off the bus.\n",
        "gpu_driver_or_library",
    ),
    # survived
    (
        "survived",
        BARS + traceback("OSError: [Errno 28] No space left on device") + LATER + DONE,
        "completed_normally",
    ),
    (
        "survived, then killed",
        BARS + traceback("ValueError: a") + LATER + "Killed\n",
        "killed_from_outside",
    ),
    ("a word before the training began", "class counts:\nKilled\n" + BARS, "unknown"),
    (
        "a failure in the midst of it, and others went on until the launcher told of it",
        BARS + traceback("KeyError: 'a'") + LATER + "job exited with code 3\n",
        "user_code_error",
    ),
    ("not survived", BARS + traceback("ValueError: a"), "user_code_error"),
    (
        "the allocator says that it is no failure",
        "2026-01-02 03:04:05.6: W x/bfc_allocator.cc:2] Allocator (GPU_0_bfc) ran out of memory "
        "trying to allocate 2.2GiB. The caller indicates that this is not a failure.\n"
        + BARS
        + DONE,
        "completed_normally",
    ),
    (
        "an exception that nobody could have caught",
        BARS
        + DONE
        + "Exception ignored in: <function A.__del__ at 0x7f>\n"
        + traceback("AttributeError: 'NoneType' object has no attribute 'close'"),
        "completed_normally",
    ),
    # quiet ends
    ("early stopping", BARS + "Epoch 2: early stopping\n", "early_stopping_or_callback_stop"),
    (
        "another model was stopped early, and then one was trained to its end",
        "Epoch 2: early stopping\n" + BARS + DONE,
        "completed_normally",
    ),
    ("a counter is no stop", BARS + "EarlyStopping counter: 2 out of 7\n", "unknown"),
    (
        "early stopping, then an error",
        "Epoch 2: early stopping\n" + traceback("KeyError: 'a'"),
        "user_code_error",
    ),
    (
        "ran out of data",
        BARS + "WARNING:tensorflow:Your input ran out of data; interrupting\n",
        "dataset_exhausted",
    ),
    ("NaN to the end", BARS + DONE.replace("0.7", "nan"), "nan_loss"),
    ("stopped for NaN", BARS + "Loss is nan, stopping training\n", "nan_loss"),
    ("interrupted", BARS + traceback("KeyboardInterrupt"), "user_interrupt"),
    ("interrupted, in other words", BARS + "wandb: Ctrl + C detected.\n", "user_interrupt"),
    ("how to interrupt", BARS + "Press Ctrl+C to stop.\n", "unknown"),
    (
        "a worker had failed before somebody lost patience",
        BARS
        + "Exception in thread Thread-3:\n"
        + traceback("FileNotFoundError: a")
        + traceback("KeyboardInterrupt"),
        "data_error",
    ),
    ("nothing", "hello\n", "unknown"),
]


def first(text: str, exit_code: int | None = None, signal: str = "") -> Finding | None:
    found = findings(Ending(parse(text), exit_code, signal))
    return found[0] if found else None


@pytest.mark.parametrize(("text", "cause"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_cause(text: str, cause: CauseId) -> None:
    found = first(text)
    assert (found.cause if found else "unknown") == cause


def test_an_exit_code_of_zero_says_that_all_was_survived() -> None:
    found = first(BARS + traceback("ValueError: a"), exit_code=0)
    assert found is not None
    assert found.cause == "completed_normally"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("Epoch 2/8\n8/8 - 1s - loss: 0.9\nsaved\n", "early_stopping_or_callback_stop"),
        ("Epoch 2/8\n8/8 - 1s - loss: 0.9\n", "completed_normally"),  # or left by sys.exit
        ("Epoch 2/8\n5/8 - 1s - loss: 0.9\nsaved\n", "completed_normally"),
        ("Epoch 8/8\n8/8 - 1s - loss: 0.9\nsaved\n", "completed_normally"),
    ],
)
def test_a_fit_of_fewer_epochs_after_which_the_script_went_on(text: str, cause: CauseId) -> None:
    found = first(text, exit_code=0)
    assert found is not None
    assert found.cause == cause


def test_a_signal_that_is_known_counts_where_the_log_is_silent() -> None:
    silent, told = first(BARS, signal="SIGKILL"), first(traceback(OOM_TITLE), exit_code=1)
    assert silent is not None
    assert told is not None
    assert (silent.cause, told.cause) == ("killed_from_outside", "gpu_oom")


def test_a_signal_that_is_known_counts_more_than_a_word_before_the_training_began() -> None:
    found = first("Killed\n" + BARS, exit_code=143)
    assert found is not None
    assert found.cause == "preempted_or_terminated"


def test_what_was_survived_before_the_training_began_explains_no_exit_code() -> None:
    found = first(traceback("MemoryError: cache") + BARS, exit_code=3)
    assert found is not None
    assert (found.cause, found.summary) == ("user_code_error", "It ended with exit code 3.")


def test_the_exit_code_of_timeout_counts_where_the_log_is_silent() -> None:
    silent, told = first(BARS, exit_code=124), first(BARS + traceback("KeyError: 'a'"), 124)
    assert silent is not None
    assert told is not None
    assert (silent.cause, told.cause) == ("time_limit", "user_code_error")


def test_an_exit_code_without_a_word_is_no_certain_cause() -> None:
    found = first(BARS, exit_code=3)
    assert found is not None
    assert (found.cause, found.confidence < 0.5) == ("user_code_error", True)


def test_the_evidence_has_the_number_of_the_line() -> None:
    found = first(BARS + traceback("ValueError: a"))
    assert found is not None
    assert [item.text for item in found.evidence] == [
        "line 8: ValueError: a",
        "raised at /app/train.py:8 in main()",
        "line 4: 5/8 - 1s - loss: 0.8",
    ]


def test_what_was_survived_is_told_beside_the_cause() -> None:
    text = BARS + traceback("OSError: [Errno 28] No space left on device") + LATER + "Killed\n"
    found = findings(Ending(parse(text)))
    assert [each.cause for each in found][:2] == ["killed_from_outside", "disk_full"]
    assert found[1].confidence < 0.5


def test_a_thread_that_was_refused_may_have_had_no_memory_for_its_stack() -> None:
    line = "F x/env.cc:84] Check failed: ret == 0 (11 vs. 0) creation via pthread_create() failed."
    limited = "OpenBLAS: pthread_create failed for thread 5 of 64: Resource temporarily unavailable"
    either, sure = first(line), first(limited)
    assert either is not None
    assert sure is not None
    assert either.cause == sure.cause == "thread_or_process_limit"
    assert either.confidence < sure.confidence
    assert any("ulimit -v" in each for each in either.advice)


def test_advice_has_the_numbers_of_the_log() -> None:
    title = (
        "tensorflow.errors.ResourceExhaustedError: OOM when allocating tensor with "
        "shape[256,112,112,64] and type float on /job:localhost/device:GPU:0 by allocator GPU_0_bfc"
    )
    found = first(traceback(title))
    assert found is not None
    assert found.advice[:2] == (
        "One tensor of 256x112x112x64 takes 822.1 MB.",
        "If 256 is the batch, a batch of 128 needs 411.0 MB there.",
    )
