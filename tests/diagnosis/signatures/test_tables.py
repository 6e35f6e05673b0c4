"""Look-alikes: the same class or word, another cause."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId
from pitstop.diagnosis.exception import Frame, from_title
from pitstop.diagnosis.signatures.tables import SIGNATURES, classify

HINT = "Hint: If you want to see a list of allocated tensors when OOM happens, add it."
RUNTIME = "RuntimeError"
EXHAUSTED = "tensorflow.python.framework.errors_impl.ResourceExhaustedError"
UNAVAILABLE = "tensorflow.python.framework.errors_impl.UnavailableError"
NETWORK: CauseId = "network_or_download_failure"
HTTP = "All 10 retry attempts failed. The last failure: Error executing an HTTP request: "
INVALID = "tensorflow.python.framework.errors_impl.InvalidArgumentError"

CASES: list[tuple[str, str, CauseId | None]] = [
    (EXHAUSTED, f"a.tempstate; No space left on device [Op:SaveV2] {HINT}", "disk_full"),
    (EXHAUSTED, f"a.tfrecord; Too many open files {HINT}", "too_many_open_files"),
    (EXHAUSTED, f"OOM when allocating tensor on /device:CPU:0 {HINT}", "host_alloc_failure"),
    (EXHAUSTED, f"OOM when allocating tensor on /device:GPU:0 {HINT}", "gpu_oom"),
    (RUNTIME, "CUDA out of memory. Tried to allocate 2.00 GiB", "gpu_oom"),
    (RUNTIME, "RESOURCE_EXHAUSTED: Attempting to reserve 6.48G", "host_alloc_failure"),
    (RUNTIME, "RESOURCE_EXHAUSTED: Received message larger than max (5 vs. 4)", None),
    (RUNTIME, "CUDA error: device-side assert triggered", "data_error"),
    (RUNTIME, "CUDA error: no kernel image is available", "gpu_driver_or_library"),
    (RUNTIME, "cuda runtime error (6) : the launch timed out", "gpu_driver_or_library"),
    (RUNTIME, "cuda runtime error (2) : out of memory at x.cu:58", "gpu_oom"),
    (RUNTIME, "_pywrap.so: undefined symbol: cudnnCreate", "gpu_driver_or_library"),
    (RUNTIME, "x.so: undefined symbol: _ZN3c10", "dependency_or_import_error"),
    (RUNTIME, "CUBLAS_STATUS_ALLOC_FAILED when calling cublasCreate", "gpu_oom"),
    (RUNTIME, "[enforce fail] DefaultCPUAllocator: can't allocate memory", "host_alloc_failure"),
    (RUNTIME, "unable to write to file </torch_12_34>: No space left on device", "shm_exhausted"),
    (RUNTIME, "[gloo/transport/tcp/pair.cc:5] Connection reset by peer", "worker_lost"),
    (
        "requests.exceptions.ConnectionError",
        "Connection reset by peer",
        "network_or_download_failure",
    ),
    ("httpx.ConnectError", "Temporary failure in name resolution", "network_or_download_failure"),
    ("ImportError", "libcublas.so.9.0: cannot open shared object file", "gpu_driver_or_library"),
    ("ImportError", "libfoo.so.1: cannot open shared object file", "dependency_or_import_error"),
    ("tensorflow.errors.OutOfRangeError", "End of sequence", "dataset_exhausted"),
    ("tensorflow.errors.NotFoundError", "a.tfrecord; No such file or directory", "data_error"),
    (
        "tensorflow.errors.NotFoundError",
        "Key w not found in checkpoint",
        "checkpoint_corrupt_or_mismatch",
    ),
    (
        "TypeError",
        "Could not locate class 'Mine'. Make sure custom classes are decorated",
        "checkpoint_corrupt_or_mismatch",
    ),
    ("AttributeError", "'Mine' object has no attribute 'build'", None),
    ("ImportError", "DLL load failed: Die Auslagerungsdatei ist zu klein", "host_alloc_failure"),
    (
        "tensorflow.errors.UnknownError",
        "ncclCommInitRank failed: unhandled system error",
        "worker_lost",
    ),
    (INVALID, "You must feed a value for placeholder tensor 'x'", "user_code_error"),
    (INVALID, "something with the values of this batch", "data_error"),
    (
        "ray.exceptions.OutOfMemoryError",
        "Task was killed due to the node running low on memory",
        "host_oom_killed",
    ),
    ("FloatingPointError", "Loss became infinite or NaN at iteration=7", "nan_loss"),
    (
        "OSError",
        "Can't create (unable to lock file, errno = 11)",
        "permission_or_readonly",
    ),
    ("ValueError", "patience must be positive", None),
    # Windows, whose words are translated: the numbers are those of winerror.h.
    ("OSError", "[WinError 1455] The paging file is too small. a.dll", "host_alloc_failure"),
    ("OSError", "[WinError 112] Es steht nicht genug Speicherplatz zur Verfügung", "disk_full"),
    ("OSError", "[WinError 126] module not found: 'c10.dll'", "dependency_or_import_error"),
    ("PermissionError", "[WinError 32] used by another process", "permission_or_readonly"),
    ("OSError", "[WinError 10060] keine Verbindung", "network_or_download_failure"),
    ("OSError", "[WinError 87] parameter", None),
    # A library of the network has no other errors.
    ("aiohttp.client_exceptions.ServerDisconnectedError", "", "network_or_download_failure"),
    ("httpx.RemoteProtocolError", "peer closed", "network_or_download_failure"),
    ("mylib.exceptions.ServerDisconnectedError", "", None),
    # An object store in the clothes of a lost task, or of the script.
    (UNAVAILABLE, f"{HTTP}HTTP response code 503 with body ''", NETWORK),
    (UNAVAILABLE, f"{HTTP}libcurl code 56 meaning 'peer'", NETWORK),
    (UNAVAILABLE, "Socket closed", "worker_lost"),
    ("tensorflow.errors.AbortedError", f"{HTTP}HTTP response code 500", NETWORK),
    ("tensorflow.errors.DataLossError", "HTTP response code 502 when reading", NETWORK),
    ("tensorflow.errors.DataLossError", "truncated record at 12", "data_error"),
    ("tensorflow.errors.NotFoundError", f"{HTTP}HTTP response code 404", "data_error"),
    ("botocore.exceptions.ClientError", "error occurred (503) when calling GetObject", NETWORK),
    ("botocore.exceptions.ClientError", "An error occurred (SlowDown) when calling Get", NETWORK),
    ("OSError", "[Errno 121] Remote I/O error", NETWORK),
    ("OSError", "[Errno 5] Input/output error: 'a'", "data_error"),
]


@pytest.mark.parametrize(("name", "message", "cause"), CASES)
def test_look_alikes(name: str, message: str, cause: CauseId | None) -> None:
    row = classify(from_title(name, message))
    assert (row.cause if row else None) == cause


def test_the_frames_in_a_message_are_no_part_of_it() -> None:
    message = (
        'Graph execution error:\n  File "checkpoint.py", line 3, in restore\n    out_of_memory()'
    )
    assert classify(from_title("ValueError", message)) is None


def test_where_it_came_from_tells_what_was_damaged() -> None:
    frames = (Frame("/app/train.py", 9, "main", "torch.load('m.pt')"),)
    inside = Frame("/venv/lib/python3.11/site-packages/torch/serialization.py", 3, "load")
    alone = classify(from_title("UnpicklingError", "invalid load key, '<'.", frames))
    loaded = classify(from_title("UnpicklingError", "invalid load key, '<'.", (*frames, inside)))
    assert alone is not None
    assert loaded is not None
    assert (alone.cause, loaded.cause) == ("data_error", "checkpoint_corrupt_or_mismatch")


def test_every_row_says_what_to_do() -> None:
    assert all(row.advice and row.headline and 0 < row.confidence <= 1 for row in SIGNATURES)


FIT = 'm.fit(x, callbacks=[keras.callbacks.CSVLogger("/nowhere/log.csv")])'


@pytest.mark.parametrize(
    ("code", "inner", "cause"),
    [
        (
            FIT,
            Frame("/a/site-packages/keras/src/utils/file_utils.py", 543, "File"),
            "callback_error",
        ),
        (FIT, Frame("train.py", 3, "<lambda>", 'open("/nowhere/a", "w")'), "callback_error"),
        (FIT, Frame("train.py", 3, "rows", 'open("/nowhere/a")'), "data_error"),
        ("main()", Frame("train.py", 3, "main", 'open("/nowhere/a", "w")'), None),
    ],
)
def test_what_cannot_be_written_is_no_missing_input(
    code: str, inner: Frame, cause: CauseId | None
) -> None:
    missing = "[Errno 2] No such file or directory: '/nowhere/a'"
    row = classify(
        from_title("FileNotFoundError", missing, (Frame("train.py", 9, "", code), inner))
    )
    assert (row.cause if row else None) == cause
