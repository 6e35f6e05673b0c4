"""Which exceptions mean what: a table, the most specific row first.

Messages are those of CPython, Keras 2.15 and 3.15, TensorFlow 2.15 and 2.21,
h5py and the CUDA libraries.  Errors of TensorFlow that carry RESOURCE_EXHAUSTED
are told apart by their text only: full disks, too many open files and exhausted
memory share the class, and the hint about "OOM" is added to all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.raised import Raised


@dataclass(frozen=True)
class Signature:
    """What an exception looks like, and what it means.

    Attributes:
        cause: the cause it points to.
        headline: the start of the summary.
        advice: what to do.
        message: pattern that the message must contain; None for any message.
        classes: the class or a base must be one of these; empty for any class.
        limit: the process limit that belongs to it, see `TrainerExited.limits`.
        confidence: how sure the match is.
    """

    cause: CauseId
    headline: str
    advice: tuple[str, ...]
    message: re.Pattern[str] | None = None
    classes: frozenset[str] = frozenset()
    limit: str = ""
    confidence: float = 0.95

    def matches(self, raised: Raised) -> bool:
        """Whether the exception looks like this."""
        if self.classes and not self.classes & raised.names:
            return False
        return self.message is None or bool(self.message.search(raised.message))


def classify(raised: Raised) -> Signature | None:
    """The first row that fits, None when none does."""
    return next((row for row in SIGNATURES if row.matches(raised)), None)


def _words(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(patterns), re.DOTALL)  # messages have many lines


def _classes(names: str, *more: Iterable[str]) -> frozenset[str]:
    return frozenset(names.split()).union(*more)


_TENSORFLOW = _classes(
    "OpError ResourceExhaustedError InternalError UnknownError AbortedError UnavailableError "
    "InvalidArgumentError NotFoundError PermissionDeniedError FailedPreconditionError "
    "DataLossError OutOfRangeError DeadlineExceededError CancelledError"
)
_SYSTEM = _classes("OSError RuntimeError", _TENSORFLOW)

_STORAGE = (
    Signature(
        "too_many_open_files",
        "The process had too many files open",
        ("Run `ulimit -n 65536` before the run; lower `cycle_length` and parallel readers.",),
        _words("Too many open files", r"\[Errno 24\]"),
        _SYSTEM,
        limit="open_files",
    ),
    Signature(
        "shm_exhausted",
        "Shared memory (/dev/shm) is full",
        ("Give the container more (`docker run --shm-size=8g`), or clear /dev/shm.",),
        _words(r"No space left on device.*/dev/shm", r"/dev/shm.*No space left on device"),
        _SYSTEM,
    ),
    Signature(
        "disk_full",
        "The disk quota is used up",
        ("Look at `quota -s` (`df` shows free space all the same), then delete old checkpoints.",),
        _words("[Qq]uota exceeded", r"\[Errno 122\]"),
        _SYSTEM,
    ),
    Signature(
        "disk_full",
        "A file grew over the limit on file sizes",
        ("Run `ulimit -f unlimited` before the run, or write to another file system.",),
        _words("File too large", r"\[Errno 27\]"),
        _SYSTEM,
        limit="file_size_bytes",
    ),
    Signature(
        "disk_full",
        "The disk is full",
        ("Free space where the message points (`df -h` and `df -i`), or write elsewhere.",),
        _words("No space left on device", r"\[Errno 28\]", "errno = 28"),
        _SYSTEM,
    ),
    Signature(
        "permission_or_readonly",
        "The file system is read-only",
        ("Write elsewhere, or find out why it went read-only (`dmesg | grep -i remount`).",),
        _words("Read-only file system", r"\[Errno 30\]"),
        _SYSTEM,
    ),
    Signature(
        "permission_or_readonly",
        "Access was denied",
        ("Check the owner and mode of the path in the message (`ls -ld PATH`) and the user.",),
        _words("Permission denied", "Operation not permitted", r"\[Errno 13\]", r"\[Errno 1\]"),
        _classes("PermissionError", _SYSTEM),
    ),
)

_MACHINE = (
    Signature(
        "thread_or_process_limit",
        "No more threads or processes could be started",
        ("Raise `ulimit -u` or the pids limit of the container; use fewer workers and threads.",),
        _words("can't start new thread", "pthread_create", r"\[Errno 11\] Resource temporarily"),
        _classes("BlockingIOError", _SYSTEM),
        limit="processes",
    ),
    Signature(
        "gpu_oom",
        "The GPU ran out of memory",
        (
            "Use a smaller batch or mixed_float16; look with `nvidia-smi` who else uses the GPU.",
            "Against fragmentation set TF_GPU_ALLOCATOR=cuda_malloc_async.",
        ),
        _words(
            "CUDA_ERROR_OUT_OF_MEMORY",
            r"OOM when allocating.*(?:GPU|gpu)",
            r"GPU_\d+_bfc",
            "Dst tensor is not initialized",
            "RESOURCE_EXHAUSTED: Out of memory while trying to allocate",
        ),
    ),
    Signature(
        "gpu_driver_or_library",
        "The GPU, its driver or its libraries failed",
        ("Compare `nvidia-smi` with the CUDA and cuDNN versions that TensorFlow was built for.",),
        _words("CUDNN_STATUS", "DNN library is not found", "CUDA_ERROR_", "cudaError", "cublas"),
        _classes("RuntimeError ImportError", _TENSORFLOW),
        confidence=0.9,
    ),
    Signature(
        "host_alloc_failure",
        "Memory was asked for and refused",
        ("Check the shape in the message first; then `ulimit -v`, and use smaller batches.",),
        _words("OOM when allocating", "Unable to allocate", "Cannot allocate memory", "bad_alloc"),
        _classes("MemoryError", _SYSTEM),
        limit="address_space_bytes",
    ),
    Signature(
        "host_alloc_failure",
        "Memory was asked for and refused",
        ("Check `ulimit -v` and how much is asked for at this line; use smaller batches.",),
        classes=_classes("MemoryError"),
        limit="address_space_bytes",
    ),
    Signature(
        "worker_lost",
        "Another task of the cluster went away",
        ("This task is a victim: look at the log of the task that the message names.",),
        _words("heartbeat timeout", "Collective ops is aborted", "different device incarnation"),
    ),
    Signature(
        "network_or_download_failure",
        "The network or a download failed",
        ("Download the data beforehand; check the name, the proxy and the certificates.",),
        _words(
            "URL fetch failure",
            "Name or service not known",
            "Temporary failure in name resolution",
            "CERTIFICATE_VERIFY_FAILED",
            "Connection (?:refused|timed out|reset by peer)",
            "Network is unreachable",
            "Stale file handle",
        ),
        _classes("Exception", _SYSTEM),
        confidence=0.9,
    ),
    Signature(
        "network_or_download_failure",
        "The network or a download failed",
        ("Download the data beforehand; check the name, the proxy and the certificates.",),
        classes=_classes("URLError HTTPError ConnectionError gaierror SSLError ConnectTimeout"),
    ),
)

_PROGRAM = (
    Signature(
        "dependency_or_import_error",
        "A package is missing or does not fit",
        ("Install it into the environment that runs the script (`python -m pip install ...`).",),
        classes=_classes("ImportError ModuleNotFoundError"),
    ),
    Signature(
        "dependency_or_import_error",
        "A compiled library does not fit",
        ("Install versions that were built for each other; `ldd LIBRARY` shows what lacks.",),
        _words("undefined symbol", "GLIBC(?:XX)?_", "cannot open shared object file"),
    ),
    Signature(
        "checkpoint_corrupt_or_mismatch",
        "Saved weights or a checkpoint do not fit or are damaged",
        ("Check that the file is whole and was saved by the same model code.",),
        _words(
            r"(?i:checkpoint)",
            r"file signature not found",
            r"(?i:unable to (?:synchronously )?open (?:file|object))",
            r"truncated file: eof",
            r"(?:weights|variables).*(?:expected|received|mismatch|saved)",
            r"\.(?:keras|weights\.h5|h5|ckpt)\b",
        ),
        _classes("OSError ValueError KeyError BadZipFile CheckpointCorrupt", _TENSORFLOW),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "An input file is damaged",
        ("Copy or generate the file that is read there again; check its size and checksum.",),
        _words("corrupted record", "truncated record", r"(?i:corrupt)", "cannot identify image"),
    ),
    Signature(
        "data_error",
        "An input file is damaged",
        ("Copy or generate the file that is read there again; check its size and checksum.",),
        classes=_classes("DataLossError BadZipFile BadGzipFile UnpicklingError JSONDecodeError"),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "A label does not fit the number of classes",
        ("Compare the labels with the size of the last layer; labels count from 0.",),
        _words("Received a label value of", "label values? .*outside the valid range"),
    ),
    Signature(
        "data_error",
        "The code that produces the data raised an error",
        ("Run the generator or map function alone over the data until it fails.",),
        _words("PyFunc", "generator_py_func", "finalize_generator", "IteratorGetNext"),
        _TENSORFLOW | {"ValueError"},
        confidence=0.9,
    ),
    Signature(
        "data_error",
        "An input file is missing",
        ("Check the path in the message from the folder where the run starts.",),
        classes=_classes("FileNotFoundError NotADirectoryError IsADirectoryError NotFoundError"),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "Shapes of the data and the model do not fit",
        ("Print the shapes of the batch and model.summary(); look for a changed last batch.",),
        _words(
            "size-incompatible",
            "[Ii]ncompatible shapes",
            "must be broadcastable",
            "is incompatible with the layer",
            "logits and labels must",
            "Shapes .* are incompatible",
        ),
        _classes("InvalidArgumentError ValueError"),
        confidence=0.85,
    ),
    Signature(
        "data_error",
        "An input could not be decoded",
        ("Find the file or row that is read there; check its encoding.",),
        classes=_classes("UnicodeDecodeError ParserError"),
        confidence=0.85,
    ),
)

SIGNATURES: tuple[Signature, ...] = (*_STORAGE, *_MACHINE, *_PROGRAM)
