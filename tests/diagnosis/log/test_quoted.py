"""Logs that a page, a comment or a notebook's file quotes, or whose ends are cut off."""

from __future__ import annotations

import html
import json

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.log import lines
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


_HALF_AN_IMPORT = """\
Traceback (most recent call last):
  File "<string>", line 1, in <module>
  File "/usr/lib/python3/site-packages/tensorflow/__init__.
"""
_HALF_A_CALLBACK = _CUT_CALLBACK.partition("\n")[2]
_HALF_A_SESSION = """\
2020-04-02 09:59:41.6: E core/cuda_dnn.cc:329] Could not create it: CUDNN_STATUS_INTERNAL_ERROR
Traceback (most recent call last):
  File "session.py", line 1365, in _do_call
    return fn(*args)
tensorflow.python.framework.errors_impl.UnknownError: 2 root error(s) found.
"""
_CAUGHT_IN_A_CELL = """\
~/keras/utils/data_utils.py in get_file(name)
--> 293         raise Exception(text)
    294     except (Exception, KeyboardInterrupt) as e:

Exception: URL fetch failure on https://a.org/b: None -- wrong version number
"""
_NO_TITLE = """\
  File "train.py", line 32, in main
    train(config)
  File "data_utils.py", line 710, in get
    raise StopIteration()

I trace it by this
"""
_HALF_A_CELL = """\
~/keras/saving.py in load_model(path)
    183     more()
--> 184     return read(path)
"""


def _cause(text: str) -> CauseId:
    found = findings(Ending(parse(lines.clean(text))))
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
        # without a class
        ("Failed precondition: Device /x current incarnation doesn't match", "worker_lost"),
        ("Received a label value of 9 which is outside of it\n\t [[{{node s/s}}]]", "data_error"),
        ("Original stack trace for 'save/RestoreV2':", "checkpoint_corrupt_or_mismatch"),
        ("**SavedModel file does not exist at: a/{b|c}**", "checkpoint_corrupt_or_mismatch"),
        ("Out of range: Queue '_1' is closed and has insufficient elements", "dataset_exhausted"),
        ("it says Caught OutOfRangeError. Stopping Training.", "dataset_exhausted"),
        ("#fixing_nonmatchingchecksumerror", "network_or_download_failure"),
        ("Fehler:\nNeither ptxas nor nvlink is available", "gpu_driver_or_library"),
        ("error: Can't find libdevice directory nvvm/libdevice", "gpu_driver_or_library"),
        ("Error: Annotation directory not found “a/b”", "data_error"),
        ("x: failed: Resource exhausted: Out \nof memory while trying to allocate", "gpu_oom"),
        ("  (5) INTERNAL:  NCCL: unhandled system error.", "gpu_driver_or_library"),
        ("Epoch 41/250: 100%|###| 9375/9375 [07:11<00:00, DR=713, DF=nan, G=nan]", "nan_loss"),
        ("Thread 0x00007ff0af475700 (most recent call first):", "native_crash"),
        ("l'errore InternalError: Failed to call ThenRnnForward", "gpu_driver_or_library"),
        ("12:00:01 - Not a JPEG file: starts with 0x89 0x50", "data_error"),
        ('the process keeps ending with "Killed".', "killed_from_outside"),
        # with a class that tells little
        (
            "ValueError: Layer #8 (named \"a\"), weight <tf.Variable 'a/kernel:0' shape=(2, 2)",
            "checkpoint_corrupt_or_mismatch",
        ),
        ("**InvalidArgumentError:** Received a label value of 26", "data_error"),
        ("**StopIteration:******", "dataset_exhausted"),
        (
            (
                "ResourceExhaustedError: 2 root error(s) found.\n"
                "  (0) Resource exhausted: Out of memory while trying to allocate 9 bytes."
            ),
            "gpu_oom",
        ),
        ("# UnavailableError: OS Error", "worker_lost"),
        ("AttributeError: 'ModelCheckpoint' object has no attribute 'a'", "callback_error"),
        ("ValueError: it works in tf.keras", "user_code_error"),
        ("TypeError: Descriptors should not be created directly", "dependency_or_import_error"),
        # of native code
        ("[F core/env.cc:73] Check failed: pthread_create() failed.```", "thread_or_process_limit"),
        ("it says: Check failed: 0 (11 vs. 0)Thread creation failed", "thread_or_process_limit"),
        ("CUDA error: no driver\nd: c.c:36: f: Assertion `0' failed.", "gpu_driver_or_library"),
        ("9: I core/bfc_allocator.cc:680] 22 Chunks of size 512 totalling 11.0KiB", "gpu_oom"),
        ("    Buffer 11:\n        Size: 96.00MiB\n        XLA Label: fusion", "gpu_oom"),
        (
            (
                "x: W core/bfc_allocator.cc:275] Allocator (GPU_0_bfc) ran out of memory trying to "
                "allocate 2.4MiB.  Current allocation summary follows.\n"
                "x: I core/bfc_allocator.cc:630] Bin (256): \tTotal Chunks: 23, Chunks in use: 23."
            ),
            "gpu_oom",
        ),
        (
            (
                "x: W core/bfc_allocator.cc:21] Allocator (GPU_0_bfc) ran out of memory trying to "
                "allocate 2.4GiB. The caller indicates that this is not a failure, but may mean"
            ),
            "unknown",
        ),
        (
            (
                "x: E core/rocm_event.cc:28] Error polling event status: failed to query event: "
                "hipError_t(600)\nx: F core/gpu_event_mgr.cc:273] Unexpected Event status: 1"
            ),
            "gpu_driver_or_library",
        ),
        (
            (
                "3/9 [==>...] - ETA: 2s - loss: 0.87Memory access fault by GPU node-1 (Agent: "
                "0x5f) on address 0x7fb5. Reason: Page not present.\nAborted (core dumped)"
            ),
            "gpu_driver_or_library",
        ),
        # of launchers, object stores, and in words without the class of the exception
        (
            (
                "An MPI communication peer process has unexpectedly disconnected.  This\nusually "
                "indicates a failure in the peer process (e.g., a crash or\notherwise exiting "
                "without calling MPI_FINALIZE first).\n\n  Local host: a\n  Peer host:  b\n"
            ),
            "worker_lost",
        ),
        (
            (
                "Failed to get matching files on gs://a/model.ckpt-0: Permission denied: Error "
                "executing an HTTP request: HTTP response code 403 with body '{\n"
                + "".join(f' "{name}": "a",\n' for name in "abcdefghi")
                + "}'"
            ),
            "permission_or_readonly",
        ),
        ("`logits` and `labels` must have the same shape, received (2, 5) vs (2,)", "data_error"),
        (
            (
                'File "h5py\\h5f.pyx", line 116, in h5py.h5f.create OSError: Unable to create file '
                "(unable to open file: name = 'a/best.hdf5', errno = 2, error message = 'No such"
            ),
            "callback_error",
        ),
        (
            "OSError: Unable to create file (name = 'a/b.h5', errno = 2, flags = 13",
            "callback_error",
        ),
        (
            "W core/op_kernel.cc:975] Data loss: file is too short to be an sstable",
            "checkpoint_corrupt_or_mismatch",
        ),
        (
            (
                '`Traceback (most recent call last):\n  File "a.py", line 9, in <module>\n'
                "    return np.array(images)\nMemoryError`"
            ),
            "host_alloc_failure",
        ),
        (
            'KeyError: "Couldn\'t find field google.protobuf.DescriptorProto.options"',
            "dependency_or_import_error",
        ),
        ("Optimization complete with best validation score of 5.6 %", "completed_normally"),
        (
            (
                "FailedPreconditionError: Error while reading resource variable a/kernel. This "
                "could mean that the variable was uninitialized. Not found: Resource localhost/a "
                "does not exist."
            ),
            "user_code_error",
        ),
        (
            (
                "9.8 - loss: 2.1x: W core/base_collective_executor.cc:217] BaseCollectiveExecutor::"
                "StartAbort Out of range: End of sequence\n\t [[{{node IteratorGetNext}}]]"
            ),
            "unknown",
        ),
        ("`W core/root_dataset.cc:163] Optimization loop failed: CANCELLED: by it`", "unknown"),
        ("NotFoundError: Graph execution error:\n\nDetected at node a defined at", "unknown"),
        (
            "NotFoundError: Op type not registered 'CaseFold' in binary",
            "dependency_or_import_error",
        ),
        ("NotFoundError: a/b.jpg; No such file or directory", "data_error"),
        (
            (
                "Error executing an HTTP request: HTTP response code 404 with body '{\n"
                + "".join(f' "{name}": "a",\n' for name in "abcdefghi")
                + "}'"
            ),
            "data_error",
        ),
        (
            (
                "x: I cloud/retrying_utils.cc:73] The operation failed and will be automatically "
                "retried (attempt 1 out of 10), caused by: Unavailable: Error executing an HTTP "
                "request: libcurl code 6 meaning 'Couldn't resolve host name'"
            ),
            "network_or_download_failure",
        ),
        (
            (
                "x: E cloud/curl_http_request.cc:610] The transmission  of request 0x1c has been "
                "stuck at 0 of 0 bytes for 61 seconds and will be aborted. CURL timing "
                "information: lookup time: 7.7e-05 (No error)"
            ),
            "network_or_download_failure",
        ),
        ("INFO:tensorflow:ShutdownHook: lame workers found: HeartbeatManager(/job:", "worker_lost"),
        ("Unable to determine the device handle for GPU0: Unknown Error", "gpu_driver_or_library"),
        ("./train.sh:  60: 11880 killed              python3 main.py", "killed_from_outside"),
        (
            (
                "libc++abi: terminating due to uncaught exception of type std::runtime_error: "
                "[METAL] Command buffer execution failed: Impacting Interactivity"
            ),
            "gpu_driver_or_library",
        ),
        (
            "Error: command buffer exited with error status.\n" + "\tno\n" * 9,
            "gpu_driver_or_library",
        ),
        (
            (
                "x: F core/resize_gpu.cu.cc:493] Non-OK-status: GpuLaunchKernel(kernel, a) status: "
                "Internal: too many resources requested for launch\nFatal Python error: Aborted"
            ),
            "gpu_driver_or_library",
        ),
        (
            "*** Received signal 11 ***\n*** BEGIN MANGLED STACK TRACE ***\n0 a + 160",
            "native_crash",
        ),
        ("Epoch 1:   0%|    | 0/10 [00:00<?, ?it/szsh: bus error  python train.py", "native_crash"),
        ("* thread #28, stop reason = EXC_BAD_ACCESS (code=1, address=0x8)", "native_crash"),
        (
            (
                'Traceback (most recent call last):\n  File "train.py", line 3, in <module>\n'
                '    rows = pd.read_csv(path)\n  File "C:\\Users\\a\\lib\\site-'
            ),
            "data_error",
        ),
        # of schedulers, terminals and in other languages
        ("PBS;Job;7.x;Job deleted at request of root@x", "preempted_or_terminated"),
        ("Job deleted at request of r\nMOAB: job exceeded wallclock limit", "time_limit"),
        ("Metadata Service says termination is imminent", "preempted_or_terminated"),
        ("12% (7/58) [# ] eta 28:34:54 \\Terminated", "preempted_or_terminated"),
        ("^[[D^[[B^CProcess ForkPoolWorker-200:", "user_interrupt"),
        ("退出代码为 -1073741819 (0xC0000005)", "native_crash"),
        ("Epoch 14: Early stopping", "early_stopping_or_callback_stop"),
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
        (_HALF_A_CALLBACK, "callback_error"),
        (_NO_TITLE, "dataset_exhausted"),
        (_HALF_AN_IMPORT, "dependency_or_import_error"),
        (_HALF_A_SESSION, "gpu_driver_or_library"),
        (_CAUGHT_IN_A_CELL, "network_or_download_failure"),
        (_HALF_A_CELL, "checkpoint_corrupt_or_mismatch"),
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


def test_strings_of_json_do_not_say_that_it_completed() -> None:
    file = '"file":"grpc/src/core/lib/iomgr/tcp_server_posix.c",'
    said = f'E0512 14:47:28.1 140 x.c:159] {{{file}{file}"description":"OS Error",{file}}}\n'
    frame = '  File "worker.py", line 152, in <module>\n    tf.app.run()\n'
    assert _cause(f"{said}Traceback (most recent call last):\n{frame}") == "unknown"


def test_the_hook_of_an_input_is_no_callback() -> None:
    frames = _CUT_CALLBACK.replace("keras\\callbacks.py", "keras\\utils\\data_utils.py").replace(
        "in on_epoch_end", "in _run"
    )
    frames += '  File "data.py", line 3, in on_epoch_end\n    self.order[9]\n'
    assert _cause(f"{frames}KeyError: 9\n") == "user_code_error"
