"""Excerpts that say little: one line, an operation, the beginning of a traceback."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log.ending import Ending
from pitstop.diagnosis.log.lines import clean
from pitstop.diagnosis.log.log import parse
from pitstop.diagnosis.log.verdict import findings

STAMP = "2021-11-02 14:02:28.120091: "
NO_DEVICE = "E core/cuda/cuda_driver.cc:509] failed call to cuInit: CUDA_ERROR_UNKNOWN\n"
DIAGNOSTICS = "I core/cuda/cuda_diagnostics.cc:165] hostname: h\n"
ALGORITHMS = (
    f"{STAMP}F core/conv_ops.cc:659] Check failed: stream->parent()->GetConvolveAlgorithms(&a)\n"
)
PTHREAD = (
    f"*** SIGABRT received at time=1660614327 on cpu 5 ***\n{STAMP}F core/env.cc:73] Check failed: "
    "ret == 0 (11 vs. 0)Thread creation via pthread_create() failed.\n"
)
CUT_MESSAGE = (
    'Traceback (most recent call last):\n  File "/a/train.py", line 9, in <module>\n    fit()\n'
    '  File "/a/log.py", line 4, in main\n    go()\nRuntimeError: it ended'
)
OP_FRAMES = '  File "train.py", line 9, in <module>\n    main()\n' * 9
SERVER = "This may be due to a preemption in a connected worker or parameter server."

_NOT_INSTALLED = """\
  File "/opt/v/lib/python3.8/site-packages/a.py", line 1, in a
ModuleNotFoundError: No module named 'cv2'
"""
_IMPORT_BREAKS_OFF = r"""
Traceback (most recent call last):
  File "a.py", line 4, in <module>
    print (keras.__version__)
  File "C:\Program Files\Python37\lib\importlib\__init__.py", line 127, in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
  File "<frozen importlib._bootstrap>", line 1006, in _gcd_import
"""
CASES: list[tuple[str, str, CauseId]] = [
    ("nothing but CUDA", f"```\n{NO_DEVICE}{DIAGNOSTICS}```\n", "gpu_driver_or_library"),
    ("a code that CUDA does not name", "failed call to cuInit: 303", "gpu_driver_or_library"),
    (
        "a program without a GPU, and what it does then",
        f"{NO_DEVICE}I core/grpc_channel.cc:215] Initialize GrpcChannelCache\nstart\nloading\n",
        "unknown",
    ),
    (
        "a stream that an earlier error has stopped",
        "I s.cc:4442] [stream=02,impl=02] INTERNAL: it did not end; was already in an error state",
        "gpu_driver_or_library",
    ),
    (
        "a check of what the GPU offers",
        f"{ALGORITHMS}Aborted (core dumped)",
        "gpu_driver_or_library",
    ),
    (
        "such a check where memory was short",
        f"{STAMP}E core/cuda_driver.cc:8] failed to allocate 2G from device 0\n{ALGORITHMS}",
        "gpu_oom",
    ),
    (
        "a device whose name is cut",
        'ResourceExhaustedError: OOM when allocating tensor [[Node: a = Mul[_device="/device:GP',
        "gpu_oom",
    ),
    (
        "a path whose resources are exhausted",
        "E events_writer.cc:62] Could not open events file: Resource exhausted: /tmp/l/events.1",
        "disk_full",
    ),
    ("too many files, as a person writes it", "Error: too many open files", "too_many_open_files"),
    (
        "what the last line calls by a general name",
        (
            "a/part-1.parquet; Too many open files\nW o.cc:1] OP_REQUIRES failed at i.h:71 : "
            "RESOURCE_EXHAUSTED: /a/part-2.parq"
        ),
        "too_many_open_files",
    ),
    (
        "an operation of a saver",
        (
            "InvalidArgumentError: Assign requires shapes of both tensors to match. lhs shape= [2] "
            "rhs shape= [9] [[Node: save/Assign_31 = "
        ),
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "the stack of such an operation",
        f"Caused by op u'save/Assign_7', defined at:\n{OP_FRAMES}",
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "the stack of an operation that reads the input",
        f"Original stack trace for 'IteratorGetNext':\n{OP_FRAMES}",
        "data_error",
    ),
    ("the stack of any other", f"Caused by op 'dense/MatMul', defined at:\n{OP_FRAMES}", "unknown"),
    (
        "one of several root errors",
        "(0) Unknown: Failed to get convolution algorithm. Look whether a warning was printed.",
        "gpu_driver_or_library",
    ),
    (
        "a message whose class is not told",
        "Error reported to Coordinator: /dbfs/train/summary.tmp; Input/output error",
        "data_error",
    ),
    ("a peer that may have gone", f"I  worker-1 An error was raised. {SERVER}\n", "worker_lost"),
    (
        "a file name of a callback",
        '\'Failed to format this callback filepath: "a"',
        "callback_error",
    ),
    (
        "the head of a notebook's traceback",
        (
            "AttributeError      Traceback (most recent call last)\n<ipython-input-1-a> in f()\n"
            "----> 3 model.fit(x, y)\n\nkeras/models.pyc in fit(self, x, y, batch_s"
        ),
        "user_code_error",
    ),
    (
        "of two such tracebacks that of a callback",
        (
            "KeyError      Traceback (most recent call last)\n"
            "lib/keras/callbacks.py in _get_file_path(self, epoch, logs)\n"
            "-> 1244         return self.filepath.format(epoch=epoch + 1, **logs)\n\n"
            "KeyError: 'batch'\n\nDuring handling of the above exception, another exception "
            "occurred:\n\nKeyError      Traceback (most recent call last)\n"
            "<ipython-input-1-a> in <module>()\n----> 9 model.fit(x, y)\n\nlib/keras/train"
        ),
        "callback_error",
    ),
    (
        "a traceback that breaks off where the data comes from",
        (
            'Traceback (most recent call last):\n  File "train.py", line 9, in <module>\n'
            "    for batch in dataset:\n"
            '  File "/site-packages/tensorflow_core/python/data/ops/iterator_ops.py", line 6, in '
            "__next__\n    retur"
        ),
        "data_error",
    ),
    (
        "a check that says what was short",
        f"{PTHREAD}Aborted (core dumped)",
        "thread_or_process_limit",
    ),
    (
        "what OpenMP says of threads",
        "OMP: System error #11: Resource temporarily unavailable\n./a: line 8:  29 Aborted  p a",
        "thread_or_process_limit",
    ),
    (
        "an exception after the line that explains it",
        f"ERROR: This might be caused by insufficient shared memory (shm).\n{CUT_MESSAGE}",
        "shm_exhausted",
    ),
    (
        "the contents of a full allocator, as later versions list them",
        "I core/bfc_allocator.cc:905] InUse at 00000007FDE00B00 next 1645 of size 5178368\n",
        "gpu_oom",
    ),
    (
        "the memory of a TPU",
        "(1) Resource exhausted: Attempting to reserve 6G. That was not possible. There are 2G.",
        "gpu_oom",
    ),
    (
        "a server that it tries to reach for ever",
        "wandb: Network error (ConnectionError), entering retry loop.",
        "network_or_download_failure",
    ),
    ("the allocator of macOS", "malloc: *** error for object 0x31: not allocated", "native_crash"),
    (
        "a folder that is named like an error",
        "5/8 [==>] - val_loss: 0.3\nsave_dir: a/checkpoints/yolo.tf\n",
        "unknown",
    ),
    (
        "a frame that a terminal has broken",
        (
            'Traceback (most recent call last):\n  File "C:\\lib\\site-packages\\kera\n'
            's\\utils\\data_utils.py", line 8, in _data_generator_task\n    next(self._gen\n'
        ),
        "data_error",
    ),
    (
        "a page that puts an empty line below each",
        CUT_MESSAGE.replace("in main", "in on_epoch_end").replace("\n", "\n\n"),
        "callback_error",
    ),
    (
        "frames and their code on one line",
        "exited with 1. " + " ".join(CUT_MESSAGE.replace("in main", "in on_epoch_end").split()),
        "callback_error",
    ),
    (
        "quotation marks of a mail program",
        CUT_MESSAGE.replace("in main", "in on_epoch_end").replace('"', "“"),
        "callback_error",
    ),
    (
        "a check of AMD's library",
        "F l.h:174] Check failed: err == hipSuccess",
        "gpu_driver_or_library",
    ),
    ("a label that CTC refuses", "E indices[159] = [4,90] is out of bounds: need 0", "data_error"),
    (
        "an object store that answers with an error",
        "Unavailable: Unexpected response code 410\n  when resuming upload gs://a/ckpt-1.data\n",
        "network_or_download_failure",
    ),
    (
        "what the C++ library says of a thread",
        (
            "terminate called after throwing an instance of 'std::system_error'\n"
            "  what():  Resource temporarily unavailable\nAborted\n"
        ),
        "thread_or_process_limit",
    ),
    (
        "below a callback a library, and then nothing",
        CUT_MESSAGE.replace("/a/log.py", "/a/site-packages/keras/callbacks.py").partition("    go")[
            0
        ]
        + '  File "/a/site-packages/tensorflow/event_file_writer.py", line 6, in __init__\n    gfi',
        "callback_error",
    ),
    (
        "a decoder's exception, and the beginning of what was raised from it",
        CUT_MESSAGE.replace("/a/log.py", "/a/site-packages/PIL/_binary.py").replace(
            "RuntimeError", "struct.error"
        )
        + "\n\nDuring handling of the above exception, another exception occurred:\n\n"
        + CUT_MESSAGE.partition("    fit")[0]
        + '  File "/hom',
        "data_error",
    ),
    (
        "an input that a library refuses",
        (
            'File "/site-packages/keras_preprocessing/numpy_array_iterator.py", line 117, in '
            "__init__\n    'with shape', self.x.shape)\nValueError: ('Data should have rank 4. "
            "You passed an array with shape', (0,))"
        ),
        "data_error",
    ),
    (
        "what Python says, without its class",
        "After it: name 'rows' is not defined",
        "user_code_error",
    ),
    (
        "a kernel that found no memory on its GPU",
        "Non-OK-status: GpuLaunchKernel (Fill, n, b, 0, s) status: Internal: out of memory",
        "gpu_oom",
    ),
    (
        "what a worker of Keras raised",
        "StopIteration: Unsupported BMP compression (1)",
        "data_error",
    ),
    (
        "an input that is too short",
        "StopIteration: Asked to retrieve element 50",
        "dataset_exhausted",
    ),
    (
        "a graph of a newer TensorFlow",
        "E op_segment.cc:53] Create kernel failed: NodeDef mentions attr 'a' not in Op<name=Array",
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "a decoder, and who waited for its image",
        (
            'Traceback (most recent call last):\n  File "/p/PIL/JpegImagePlugin.py", line 2, in f\n'
            "    dpi = x / y\nZeroDivisionError: division by zero\n\n"
            'Traceback (most recent call last):\n  File "/a/tune.py", line 9, in <module>\n'
            "    fit()\nValueError: output of generator should be a tuple. Found: None"
        ),
        "data_error",
    ),
    (
        "a class without a message, and what its author asks",
        (
            'Traceback (most recent call last):\n  File "a.py", line 2, in <module>\n    next(rows)'
            "\nStopIteration\n```\nWhat can I do? Thanks"
        ),
        "dataset_exhausted",
    ),
    (
        "an exit code whose sign was lost",
        "no stack: exit code 1073740791 0xc0000409",
        "native_crash",
    ),
    ("a message in a sentence", "I get '/tmp/logs/ permission denied'.", "permission_or_readonly"),
    ("a GPU that gave no answer", "InternalError: GPU sync failed", "gpu_driver_or_library"),
    (
        "a GPU that refused a kernel",
        "InternalError: CUB reduce errorinvalid configuration argument",
        "gpu_driver_or_library",
    ),
    (
        "a file that an installation did not build",
        "FileNotFoundError: [Errno 2] The pages were not found. If installing from source, build",
        "dependency_or_import_error",
    ),
    (
        "a program not installed",
        "RuntimeError: ffmpeg is not installed",
        "dependency_or_import_error",
    ),
    ("a class in a sentence", "Otherwise it will say KeyError: 'rows'.", "user_code_error"),
    (
        "a job of zsh",
        "1.1 - size=224: 804 ms\n[1]    4458 segmentation fault  python\n$ ls",
        "native_crash",
    ),
    (
        "an extension that is not built",
        "Setting up b.cu: Compiling... Failed!",
        "dependency_or_import_error",
    ),
    (
        "the builder of an extension",
        (
            'Traceback (most recent call last):\n  File "/p/torch/utils/cpp_extension.py", line 8\n'
            "    subprocess.run(\nsubprocess.CalledProcessError: Command '['g++']' "
            "returned non-zero exit status 1."
        ),
        "dependency_or_import_error",
    ),
    (
        "the call of a callback, and below it half a frame",
        CUT_MESSAGE.replace("    go()", "    callbacks.on_epoch_end(epoch, logs)").partition(
            "RuntimeError"
        )[0]
        + '  File "/v/lib/python3.7/site-packages/tensorfl',
        "callback_error",
    ),
    (
        "the call of a callback that itself failed",
        CUT_MESSAGE.replace("    go()", "    callbacks.on_epoch_end(epoch, logs)").replace(
            "RuntimeError: it ended", "UnboundLocalError: local variable 'logs' is not set"
        ),
        "user_code_error",
    ),
    (
        "half a download of transformers",
        (
            "OSError       Traceback (most recent call last)\n"
            "~/lib/transformers/configuration_utils.py in get_config_dict(cls, **kwargs)\n"
            "--> 355                 local_files_only=local_files_only,\n\n"
            "~/lib/transformers/file_utils.py in cached_path(url_or_filename, use"
        ),
        "network_or_download_failure",
    ),
    (
        "a file server that disappeared when a file was created there",
        (
            "# OSError: [Errno 116] Unable to synchronously create file (error message = 'Stale "
            "file handle')\n**Traceback (most recent call last):"
        ),
        "network_or_download_failure",
    ),
    ("a class and what it says, in a title", "it crashed with KeyError 'run0'", "user_code_error"),
    ("an import that breaks off", _IMPORT_BREAKS_OFF, "dependency_or_import_error"),
    (
        "a warning of a logger, whose words are those of an error",
        "WARNING:tensorflow:Unresolved object in checkpoint: (root).optimizer.iter",
        "unknown",
    ),
    (
        "an evaluation after the last step",
        "I Loss for final step: 4.0.\nI Starting evaluation at 2018-05\nI Restoring from m.ckpt-45",
        "unknown",
    ),
    (
        "the head that a notebook puts above frames, and none of them",
        "UnavailableError        Traceback (most recent call last)\n     9 \n     10 fit(x)\n",
        "worker_lost",
    ),
    (
        "the hook of a module, which Lightning calls like those of callbacks",
        CUT_MESSAGE.replace("/a/train.py", "/a/site-packages/lightning/trainer/call.py")
        .replace("in <module>", "in _call_lightning_module_hook")
        .replace("in main", "in on_test_epoch_end"),
        "user_code_error",
    ),
    (
        "what the reader of a checkpoint could not decode",
        CUT_MESSAGE.replace(
            "/a/log.py", "/a/site-packages/tensorflow/py_checkpoint_reader.py"
        ).partition("RuntimeError")[0]
        + "UnicodeDecodeError: 'utf-8' codec can't decode byte 0xbe",
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "an error of the program that another passes on in words of its own",
        CUT_MESSAGE.partition("RuntimeError")[0]
        + "AttributeError: 'numpy.float32' object has no attribute 'replace'\n\n"
        + "During handling of the above exception, another exception occurred:\n\n"
        + CUT_MESSAGE.replace("RuntimeError: it ended", "ValueError: Could not load module A"),
        "user_code_error",
    ),
]


@pytest.mark.parametrize(("text", "cause"), [case[1:] for case in CASES], ids=[c[0] for c in CASES])
def test_it_is_enough(text: str, cause: CauseId) -> None:
    found = next(iter(findings(Ending(parse(text)))), None)
    assert (found.cause if found else "unknown") == cause


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("ImportError: DLL load failed: The specified module was not found", "fit together"),
        ("ModuleNotFoundError: No module named 'tensorflow.contrib'", "the version of tensorflow"),
        ("ModuleNotFoundError: No module named 'cv2'", "`python -m pip install cv2"),
        ("/opt/v/bin/python3: No module named torch", "`/opt/v/bin/python3 -m pip install torch"),
        (_NOT_INSTALLED, "`/opt/v/bin/python3.8 -m pip install cv2"),
        ("ValueError: You passed an array with shape (0, 32, 32)", "Count the input's batches"),
        (CUT_MESSAGE.replace("in main", "in on_epoch_end"), "run without it"),
        ("Message: The node was low on resource: memory.", "requests.memory"),
    ],
)
def test_the_first_advice(text: str, words: str) -> None:
    assert words in next(iter(findings(Ending(parse(text))))).advice[0]


def test_the_headline_is_of_the_gpu_where_the_cause_is() -> None:
    found = next(iter(findings(Ending(parse("Resource exhausted: OOM when allocating tensor")))))
    assert (found.cause, "GPU" in found.summary) == ("gpu_oom", True)


_KERNEL = "Sep  7 20:25:18 ubuntu kernel: Out of memory: Killed process 2988 (onsets_frames_t)\n"


@pytest.mark.parametrize(
    ("shell", "cause"),
    [("train.sh: line 7:  2988 Killed     onsets_frames_train\n", "host_oom_killed"), ("", None)],
)
def test_kernel_names_a_program_that_the_shell_says_was_killed(
    shell: str, cause: str | None
) -> None:
    found = findings(Ending(parse(clean(shell + _KERNEL))))
    assert (found[0].cause if found else None) == cause
