"""Excerpts as people paste them: within sentences, broken off, marked by hand or by a page."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log import lines
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

_HEADER = 'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n    main()\n'
_LOADS = _HEADER + '  File "/v/site-packages/t/trainer.py", line 5, in {}\n    read()\n'
_FAILURES = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:
Failures:
[1]:
  exitcode  : -15 (pid: 62)
  traceback : Signal 15 (SIGTERM) received by PID 62
Root Cause (first observed failure)
[0]:
  exitcode  : -9 (pid: 63)
  traceback : Signal 9 (SIGKILL) received by PID 63
"""
_ACTOR = """\
ray.exceptions.RayActorError: The actor died because of an error raised in its creation task
  File "/v/site-packages/ray/tune/trainable.py", line 157, in __init__
    self.setup()
  File "train.py", line 233, in setup
    model = self.build_model(con
"""
_WITHOUT_TAGS = """\
Traceback (most recent call last):
  File "train.py", line 9, in
    main()
  File "", line 3, in raise_from
OSError: [Errno 2] No such file: 'a'
"""
_WITHOUT_COMMAS = """\
> File "../engine/training.py", line 606 in data_generator_task
>     output = next(self._generator)
> File "gen.py", line 3 in next
>     return vstack(a)
> ValueError: all the input array dimensions differ
"""
_IMPORTS = """\
Traceback (most recent call last):
  File "./test_script.py", line 1, in <module>
    from autonomio.commands import train
  File "/home/b/autonomio/__init__.py", line 3, in <module>
    from train_new import kuubio
  File "/home/b/auto
"""
_LOADED_BY_A_LIBRARY = """\
  File "E:/work/test.py", line 24, in <module>
    model = convnet('alexnet', weights_path="alexnet.h5")

  File "C:\\lib\\site-packages\\nets\\nets.py", line 69, in convnet
    net = init(weights_path, heatmap=False)

  File "C:\\lib\\site-packages\\nets\\alexnet.py", line 295, in AlexNet
    model.load_weights(weights_path)

  File "C:\\lib\\site-packages\\keras\\saving.py", line 901, in load_weights_from_hdf5_group
    str(len(layers)) + ' layers.')

ValueError: You are tryin
"""
_FRAMES_BELOW = """\
`jaxlib.xla_extension.XlaRuntimeError: INTERNAL: Failed to allocate 98697216 bytes for constant
`

Here are details:

> Traceback (most recent call last):
>   File "/home/ada/octo/finetuned.py", line 217, in <module>
>     app.run(main)
"""
_MXNET = f"""\
{_HEADER}  File "/v/site-packages/mxnet/base.py", line 252, in check_call
    raise MXNetError(py_str(_LIB.MXGetLastError()))
mxnet.base.MXNetError: [19:09:37] rnn-inl.h:710: Check failed: e == CUDNN_STATUS_SUCCESS (8 vs. 0)
"""
_TWO_QUOTED = """\
I get the error "ValueError: You are trying to load a weight file containing 22 layers into a model
with 26 layers". If I save it again, I get "IOError: Unable to create file "(already open)". So?
"""
_SERVER = """\
I am not sure if the server works normally, it just shows:
`I core/rpc/grpc_channel.cc:215] Initialize GrpcChannelCache for job ps -> {{0 -> {}:3333}}
I core/rpc/grpc_channel.cc:215] Initialize GrpcChannelCache for job worker -> {{0 -> {}:5555}}
I core/rpc/grpc_server_lib.cc:316] Started server with target: grpc://localhost:{}`
and then be silent.
"""
_MISSHAPEN = """\
Epoch 1/10
WARNING:tensorflow:Model was constructed with shape (None, 28) for input KerasTensor(type_spec), \
but it was called on an input with incompatible shape (None, 934).
ValueError                                Traceback (most recent call last)
<ipython-input-19-3aeda4411868> in <module>()
----> 8 model.fit(x, y, ep
"""
_UNPICKLES = """\
UnpicklingError                           Traceback (most recent call last)
<ipython-input-2-7e4e> in <module>()
----> 83 model = torch.load(model_path)

/usr/local/lib/python3.5/dist-packages/torch/serialization.py in load(f, map_location)
    230     try:
--> 231         return
"""
_OUT_OF_MEMORY = """\
n3:301:306 [0] misc/socket.cc:49 NCCL WARN socketProgress: Connection closed by remote peer n3-ib
n3:301:306 [0] NCCL INFO misc/socket.cc:749 -> 6
n3:302:307 [3] include/alloc.h:178 NCCL WARN Cuda failure 'out of memory'
n3:302:307 [3] NCCL INFO transport/p2p.cc:204 -> 1
"""
_CLOSED = """\
ncclInternalError: Internal check failed.
Last error:
Net : Connection closed by remote peer user<43236>
"""
_NO_GPU = """\
E cuda/cuda_driver.cc:397] failed call to cuInit: CUDA_ERROR_NO_DEVICE
I cuda/cuda_diagnostics.cc:157] no NVIDIA GPU device is present: /dev/nvidia0 does not exist
E1220 09:24:00.6 8 socket_utils.cc:197] check for SO_REUSEPORT: {"description":"unavailable"}
I core/rpc/grpc_channel.cc:215] Initialize GrpcChannelCache for job ps -> {0 -> tf-ps-0:2222}
"""
_PODS = """\
train-master-0     0/1   {}   0   4d
train-ps-0         1/1   Running     0   4d
train-worker-0     0/1   {}   0   4d
"""
_ON_ONE_LINE = """\
[E ProcessGroupNCCL.cpp:455] Some operations have failed. [E ProcessGroupNCCL.cpp:460] We are \
taking the process down. terminate called after throwing an instance of 'std::runtime_error' \
what(): NCCL error: remote process exited or there was a network error, NCCL version 2.14.3
"""
_FILES_OPEN = f"# Too many files open\n\nWhy does it stop?\n\n{_HEADER}"
_CACHE = "using /home/a\nowned by 1046\nof user a\nchmod: '/home/a': Read-only file system\n"
_WAITS = "I core/master.cc:221] CreateSession still waiting for response from worker: /job:worker\n"
_OVER_LINES = """\
it ended with the message: "RuntimeError: DataLoader worker (pid 47) is killed by signal: Bus
error. It is possible that its workers are out of shared
memory."
"""
_DONE = "step 9: loss = 0.3 (0.8 sec/step)\nFinished training! Saving model to disk.\n"
_IN_USER_CODE = f"""\
{_HEADER}ValueError: in user code:

    /v/keras/engine/training.py:855 train_function  *
        return step_function(self, iterator)
    /v/distribute/distribute_lib.py:1285 run
        return self._extended.call_for_each_replica(fn, args=args)
"""
_LOSSES = """\
I0409 23:03:12.8 1404 model_lib_v2.py:708] {'Loss/localization_loss': nan,
 'Loss/total_loss': nan,
 'learning_rate': 0.07922263}
"""
_STANDARDIZES = """\
ValueError                                Traceback (most recent call last)
<ipython-input-26-9d2f469bf853> in <module>()
--> 188 hist = model.fit(x, y)

~\\Anaconda3\\lib\\site-packages\\keras\\engine\\utils.py in standardize_input_data(data, nam"""


def _cause(text: str) -> CauseId:
    found = findings(Ending(parse(lines.clean(text))))
    return found[0].cause if found else "unknown"


@pytest.mark.parametrize(
    "sentence",
    [
        "I get `{}` when I run train.py",
        'After a while it stops with the message "{}" and nothing else',
        "I always get this error: {}. Any idea?",
        "[BUG] {} #123",
        "### {}\nWhat is wrong?",
    ],
)
@pytest.mark.parametrize(
    ("said", "cause"),
    [
        ("Illegal instruction (core dumped)", "illegal_instruction"),
        ("KeyboardInterrupt", "user_interrupt"),
        ("run.sh: line 1: 20737 Killed    python train.py", "killed_from_outside"),
        ("Epoch 3: early stopping", "early_stopping_or_callback_stop"),
        ("SyntaxError: invalid syntax", "user_code_error"),
        ("Epoch [2/20], Loss: nan", "nan_loss"),
    ],
)
def test_what_a_sentence_quotes_is_read(sentence: str, said: str, cause: CauseId) -> None:
    assert _cause(sentence.format(said)) == cause


@pytest.mark.parametrize(
    "sentence",
    [
        "W core/x.cc:9] Optimization loop failed: CANCELLED: by it",
        "Here is my code, the log below ends after `model.fit`",
        "WARNING: retrying: Connection refused",
        "- `ModuleNotFoundError: No module named 'cv2'`: run `pip install opencv-python`.",
        "Q: What does `Segmentation fault (core dumped)` mean?",
        "If you get `Killed`, your machine has too little memory: add swap.",
        "Note: if training fails with `OOM when allocating tensor`, use a smaller batch.",
        "I had `OSError: [Errno 28] No space left on device`, which I solved. Is 3 s normal?",
        "slurmd: error: couldn't chdir to `/r': No such file or directory: going to /tmp instead",
    ],
)
def test_an_ordinary_line_is_no_sentence_that_quotes(sentence: str) -> None:
    assert _cause(sentence) == "unknown"


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        # the last line is indented further, or marked
        (f"{_HEADER}      MemoryError`", "host_alloc_failure"),
        # the log breaks off within the name of a class
        # within a frame of a notebook
        (_STANDARDIZES, "data_error"),
        # before the class is named
        (_LOADS.format("_load_from_checkpoint"), "checkpoint_corrupt_or_mismatch"),
        (f"^C{_HEADER}", "user_interrupt"),
        (_ACTOR, "user_code_error"),
        # a page takes <module> for a tag; a person leaves the commas out
        (_WITHOUT_TAGS, "data_error"),
        (_WITHOUT_COMMAS, "data_error"),
        (_IMPORTS, "dependency_or_import_error"),
        (_LOADS.format("_standardize_user_data"), "data_error"),
        (_OVER_LINES, "shm_exhausted"),
        (_LOSSES, "nan_loss"),
        (f"{_HEADER}ResourceExhaustedError: <exception str() failed>", "gpu_oom"),
        ('[BUG] run_classifier got "^C" after the first checkpoint.', "user_interrupt"),
        ("[E6 PG.cpp:18] [Rank 6] Watchdog caught co", "hang_or_stall"),
        ("[node1:12] pml_ucx.c:419  Error: Destination is unreachable", "worker_lost"),
        ("(GPU_0_bfc) ran out of memory.  Current allocation summary foll", "gpu_oom"),
        # where a traceback begins, though the lines above it are those of an end
        (f"{_DONE}Traceback (most recent call l", "unknown"),
        (f"{_DONE}Traceback (most recent call last):\n  Fi", "unknown"),
        # before Keras comes to what failed in the user's code; a page's title may tell
        (_IN_USER_CODE, "unknown"),
        (f"# Input 0 is incompatible with layer model_6\n\n{_IN_USER_CODE}", "data_error"),
        (_LOADED_BY_A_LIBRARY, "checkpoint_corrupt_or_mismatch"),
        (_FRAMES_BELOW, "gpu_oom"),
        (_MXNET, "gpu_driver_or_library"),
        (_OUT_OF_MEMORY, "gpu_oom"),
        (f"# Cuda out of memory - what to do\n\nsame here?\n{_HEADER}", "gpu_oom"),
        (_UNPICKLES, "checkpoint_corrupt_or_mismatch"),
        (
            "1、couldn't connect to 'https://a.co/' to load it\n2、none",
            "network_or_download_failure",
        ),
        (_CLOSED, "worker_lost"),
        (_NO_GPU, "unknown"),
        (_PODS.format("Completed", "Completed"), "ps_or_server_never_stops"),
        (_PODS.format("Running", "Running"), "unknown"),
        (_ON_ONE_LINE, "worker_lost"),
        (_FILES_OPEN, "too_many_open_files"),
        (_CACHE, "permission_or_readonly"),
        ("# Kernel is crashed after using all available RAM\n\n1\n2\n3\n", "host_oom_killed"),
        ("epoch 6: 81%\nERROR: InterruptException:\n...", "user_interrupt"),
        ("mxnet.base.MXNetError: e == cudaSuccess (2 vs. 0) ErrStr:out of memory", "gpu_oom"),
        (_TWO_QUOTED, "checkpoint_corrupt_or_mismatch"),
        (_SERVER.format("localhost", "10.0.0.2", "3333"), "ps_or_server_never_stops"),
        (_SERVER.format("10.0.0.2", "localhost", "5555"), "unknown"),
        (_MISSHAPEN, "data_error"),
        (f"INFO Waiting for model.\n{_WAITS * 2}{_WAITS[:42]}", "hang_or_stall"),
        ("Epoch 3/3\n8/8 - loss: 0.1\n...\nMemory on the node (IP: 10.0.0.2", "host_oom_killed"),
        ('it presented the "Ran out of GPU memory when allocating 0 bytes for..."', "gpu_oom"),
    ],
)
def test_what_breaks_off_or_is_marked_is_read(text: str, cause: CauseId) -> None:
    assert _cause(text) == cause


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        (_FAILURES, "killed_from_outside"),
        ("traceback : Signal 9 (SIGKILL) received by PID 492347", "killed_from_outside"),
        ("launch failed with exit codes 245 and -11", "native_crash"),
        ("Training failed error, exit code '132'", "illegal_instruction"),
        ("# [Bug] Training gets Killed\n\n15/15 - 0s\n9/9 - 0s\n7/7 - 0s\n", "killed_from_outside"),
        ("# Segmentation Fault (core dumped) while training on 1.14", "native_crash"),
        ("I get an error that says Fatal Python error:Aborted (see below).", "native_crash"),
        ("#0  0x00007fb46bf905f7 in raise () from /lib64/libc.so.6", "native_crash"),
        ("_job_complete: JobId=127441 WTERMSIG 9", "killed_from_outside"),
        ("slurmstepd: error: execve(): torchrun: No such file", "dependency_or_import_error"),
        ("terminating with uncaught exception of type A::B: A::B", "native_crash"),
        ("INFO: registered a handler for signal 15, got job 3", "unknown"),
        ("Sending process 94476 closing signal SIGTERM, exit follows", "unknown"),
        ("api:Sending process 94476 closing signal SIGHUP", "preempted_or_terminated"),
        ("9/9 [1:02, 4s/it]W19 api.py:7] Received 1 death signal", "preempted_or_terminated"),
        ("<info> Trial 3 **was requested to terminate**\n<info> left", "preempted_or_terminated"),
    ],
)
def test_how_a_process_ended_in_any_order_of_words(text: str, cause: CauseId) -> None:
    assert _cause(text) == cause


def test_each_writer_has_its_traceback() -> None:
    text = "[0]<stdout>:hi\n" + "".join(
        f"[2]<stderr>:{line}\n" for line in f"{_HEADER}RuntimeError: no".split("\n")
    )
    assert _cause(f"{text}[0]<stdout>:waits\n") == "user_code_error"
