"""What others would say: from the exit code, from the last exception, from words in the log.

Each answers with all causes that its word stands for, so that a coarse answer counts as right
where the cause is among them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

from benchmarks.faults.run import Run
from pitstop.diagnosis.finding import CauseId

Answer = frozenset[CauseId]

UNKNOWN: Answer = frozenset({"unknown"})
_DONE: Answer = frozenset({"completed_normally"})
_MEMORY: Answer = frozenset({"host_oom_killed", "host_alloc_failure", "gpu_oom"})
_PROGRAM: Answer = frozenset({"user_code_error", "callback_error"})

_EXIT_CODES: Mapping[int, Answer] = MappingProxyType(
    {
        0: _DONE,
        124: frozenset({"time_limit"}),
        129: frozenset({"preempted_or_terminated"}),
        130: frozenset({"user_interrupt"}),
        132: frozenset({"illegal_instruction"}),
        134: frozenset({"native_crash"}),
        135: frozenset({"native_crash", "shm_exhausted"}),
        137: _MEMORY,
        139: frozenset({"native_crash"}),
        143: frozenset({"preempted_or_terminated", "time_limit"}),
        152: frozenset({"time_limit"}),
    }
)

_CLASSES: Mapping[str, Answer] = MappingProxyType(
    {
        "MemoryError": _MEMORY,
        "ResourceExhaustedError": _MEMORY,
        "FileNotFoundError": frozenset({"data_error"}),
        "NotFoundError": frozenset({"data_error"}),
        "DataLossError": frozenset({"data_error"}),
        "InvalidArgumentError": frozenset({"data_error"}),
        "UnavailableError": frozenset({"worker_lost"}),
        "ImportError": frozenset({"dependency_or_import_error"}),
        "ModuleNotFoundError": frozenset({"dependency_or_import_error"}),
        "KeyboardInterrupt": frozenset({"user_interrupt"}),
        "PermissionError": frozenset({"permission_or_readonly"}),
        "ConnectionError": frozenset({"network_or_download_failure"}),
        "OSError": frozenset({"disk_full"}),
    }
)

_WORDS: tuple[tuple[str, Answer], ...] = (
    (r"DUE TO TIME LIMIT", frozenset({"time_limit"})),
    (r"DUE TO PREEMPTION|CANCELLED", frozenset({"preempted_or_terminated"})),
    (r"\bOOM\b|[Oo]ut of memory|MemoryError|RESOURCE_EXHAUSTED|bad_alloc", _MEMORY),
    (r"^Killed", _MEMORY),
    (r"No space left|[Qq]uota exceeded", frozenset({"disk_full"})),
    (r"Too many open files", frozenset({"too_many_open_files"})),
    (r"can't start new thread|pthread_create", frozenset({"thread_or_process_limit"})),
    (r"Permission denied|Read-only file system", frozenset({"permission_or_readonly"})),
    (r"CUDA_ERROR|CUDNN_STATUS|Unable to register cu", frozenset({"gpu_driver_or_library"})),
    (r"Segmentation fault|core dumped|Check failed|Aborted", frozenset({"native_crash"})),
    (r"ModuleNotFoundError|ImportError", frozenset({"dependency_or_import_error"})),
    (r"heartbeat timeout|Connection reset by peer|Socket closed", frozenset({"worker_lost"})),
    (r"Connection refused|resolution|URL fetch", frozenset({"network_or_download_failure"})),
    (r"corrupted record|truncated record|No such file", frozenset({"data_error"})),
    (r"KeyboardInterrupt", frozenset({"user_interrupt"})),
    (r"loss: nan|NaN", frozenset({"nan_loss"})),
    (r"early stopping", frozenset({"early_stopping_or_callback_stop"})),
    (r"ran out of data", frozenset({"dataset_exhausted"})),
    (r"Traceback", _PROGRAM),
)
"""The usual list of words to look for, the worst first."""

_TITLE = re.compile(r"^(?:\w+\.)*(?P<name>[A-Z]\w*(?:Error|Exception|Interrupt|Exit))\b", re.M)


def exit_code(run: Run) -> Answer:
    """What the exit code is known for."""
    if run.exit_code is None:
        return UNKNOWN
    return _EXIT_CODES.get(run.exit_code, _PROGRAM)


def last_exception(run: Run) -> Answer:
    """The class of the last exception that was printed."""
    names = _TITLE.findall(run.log)
    if names:
        return _CLASSES.get(names[-1], _PROGRAM)
    return _DONE if run.exit_code == 0 else UNKNOWN


def grep(run: Run) -> Answer:
    """The first of the usual words that is in the log."""
    found = (answer for words, answer in _WORDS if re.search(words, run.log, re.M))
    return next(found, _DONE if run.exit_code == 0 else UNKNOWN)


BASELINES: Mapping[str, Callable[[Run], Answer]] = MappingProxyType(
    {"exit code": exit_code, "last exception": last_exception, "grep": grep}
)
