"""Crashes in native code, and the limits that look like crashes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pitstop.diagnosis import CauseId, Evidence, exception
from pitstop.observation.observer import OTHER_PID_NUMBERS
from tests.diagnosis.attempts import (
    LIMITS,
    TRAINER_PID,
    Case,
    as_parameters,
    check,
    exited,
    failed,
    finding_of,
    fit_ended,
    killed,
)

PTHREAD = (
    "2026-01-01 10:00:00.1: F external/local_tsl/tsl/platform/default/env.cc:74] Check failed: "
    "ret == 0 (11 vs. 0) Thread tf_data creation via pthread_create() failed."
)
SEGV = (
    "Fatal Python error: Segmentation fault\n\n"
    'Thread 0x00007f (most recent call first):\n  File "/usr/lib/threading.py", line 3 in wait\n\n'
    'Current thread 0x00007e (most recent call first):\n  File "train.py", line 9 in crash\n'
)

LEAKED = (
    "resource_tracker.py:254: UserWarning: resource_tracker: There appear to be 1 leaked "
    "shared_memory objects to clean up at shutdown\n"
)
SEGFAULT = "segfault at 0 ip 0 sp 0 error 4 in libc.so.6"


def crash(who: str, age_seconds: float) -> dict[str, Any]:
    """What the kernel logged of one crash, so many seconds before the end."""
    line = f"{who}: {SEGFAULT}"
    return {"kernel_faults": [line], "kernel_fault_ages_seconds": [age_seconds]}


CASES: list[Case] = [
    (
        "segfault",
        failed(killed("SIGSEGV"), output=SEGV),
        "native_crash",
    ),
    ("139 of a shell", failed(exited(139)), "native_crash"),
    ("illegal instruction", failed(killed("SIGILL")), "illegal_instruction"),
    ("bus error with room in /dev/shm", failed(killed("SIGBUS")), "native_crash"),
    (
        "the kernel logged no crash",
        failed(killed("SIGSEGV", kernel_faults=[])),
        "killed_from_outside",
    ),
    (
        "the kernel logged no crash, since faulthandler was there for it",
        failed(killed("SIGSEGV", kernel_faults=[]), output=SEGV),
        "native_crash",
    ),
    (
        "the kernel logged a crash, maybe of one of its threads",
        failed(killed("SIGSEGV", kernel_faults=["tf_Compute[9]: segfault at 0 ip 0"])),
        "native_crash",
    ),
    (
        "the kernel logged a crash of another process, while the trainer still made steps",
        failed(killed("SIGSEGV", **crash("python[9]", 30.0))),
        "killed_from_outside",
    ),
    (
        "the kernel logged a crash after the last step",
        failed(killed("SIGSEGV", **crash("tf_Compute[9]", 30.0), seconds_since_boundary=45.0)),
        "native_crash",
    ),
    (
        "a crash was logged, and no step was seen after which it could have been",
        failed(killed("SIGSEGV", **crash("python[9]", 30.0), seconds_since_boundary=None)),
        "native_crash",
    ),
    (
        "a crash was logged, nobody knows when",
        failed(killed("SIGSEGV", kernel_faults=[f"python[9]: {SEGFAULT}"])),
        "native_crash",
    ),
    (
        "an illegal instruction that the kernel did not see",
        failed(killed("SIGILL", kernel_faults=[])),
        "killed_from_outside",
    ),
    (
        "bus error with /dev/shm full",
        failed(killed("SIGBUS", limits={"dev_shm": {"size_bytes": 67108864, "free_bytes": 4096}})),
        "shm_exhausted",
    ),
    (
        "bus error, and Python has emptied /dev/shm",
        failed(killed("SIGBUS", max_rss_bytes=700 << 20), output=LEAKED),
        "shm_exhausted",
    ),
    (
        "bus error in a script that has shared memory, with a large /dev/shm",
        failed(killed("SIGBUS", max_rss_bytes=60 << 20), output=LEAKED),
        "native_crash",
    ),
    (
        "abort of a check",
        failed(killed("SIGABRT"), output="F tensor.cc:733] Check failed: 1 == NumElements()"),
        "native_crash",
    ),
    ("abort: no thread", failed(killed("SIGABRT"), output=PTHREAD), "thread_or_process_limit"),
    (
        "abort: no thread, because of the address space",
        failed(
            killed(
                "SIGABRT",
                limits=LIMITS | {"address_space_bytes": {"soft": 4 << 30, "hard": 4 << 30}},
            ),
            output=PTHREAD,
        ),
        "host_alloc_failure",
    ),
    (
        "abort: bad_alloc",
        failed(
            killed("SIGABRT"),
            output="terminate called after throwing an instance of 'std::bad_alloc'",
        ),
        "host_alloc_failure",
    ),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_the_python_frame_of_the_crashed_thread_is_named() -> None:
    assert "train.py:9 in crash()" in finding_of(failed(killed("SIGSEGV"), output=SEGV)).summary


def test_the_line_that_called_a_library_is_named_too() -> None:
    frames = '  File "/usr/lib/python3.11/ctypes/__init__.py", line 5 in string_at\n'
    output = SEGV.replace('  File "train.py"', f'{frames}  File "train.py"')
    summary = finding_of(failed(killed("SIGSEGV"), output=output)).summary
    assert "5 in string_at(), called by train.py:9 in crash()" in summary


OURS = Path(exception.__file__).parents[1]


def _dump(file: Path, word: str, function: str) -> str:
    line = next(at for at, text in enumerate(file.read_text().splitlines(), 1) if word in text)
    return SEGV.replace(
        '  File "train.py"', f'  File "{file}", line {line} in {function}\n  File "train.py"'
    )


def test_a_crash_of_ours_is_not_told_as_the_script_s() -> None:
    output = _dump(OURS / "snapshot" / "arena.py", "import mmap", "write_slot")
    finding = finding_of(failed(killed("SIGSEGV"), output=output))
    assert "in Pitstop itself, at " in finding.summary
    assert "train.py" not in finding.summary
    assert finding.advice[0] == exception.HOW_TO_REPORT


def test_a_crash_below_a_call_that_we_hand_on_is_the_script_s() -> None:
    output = _dump(OURS / "engine" / "session" / "exit_calls.py", "return original(", "_call")
    finding = finding_of(failed(killed("SIGSEGV"), output=output))
    assert "called by train.py:9 in crash()" in finding.summary


def _of_kernel_log(**fields: Any) -> list[str]:
    found = finding_of(failed(killed("SIGSEGV", **fields))).evidence
    return [item.text for item in found if item.source == "kernel log"]


def test_the_kernel_names_the_library_that_crashed() -> None:
    line = f"python[{TRAINER_PID}]: {SEGFAULT}"
    assert _of_kernel_log(kernel_faults=[line, f"sshd[9]: {SEGFAULT}"]) == [line]


def test_a_crash_under_another_number_may_be_of_one_of_its_threads() -> None:
    seen = _of_kernel_log(**crash("tf_Compute[9]", 0.1))
    assert seen == [f"tf_Compute[9]: {SEGFAULT} (perhaps one of its threads)"]


def test_what_was_looked_at_is_said() -> None:
    assert _of_kernel_log(kernel_faults=[]) == ["no process crashed during the attempt"]
    assert _of_kernel_log(**crash("sshd[9]", 30.0)) == [
        "no process crashed since the trainer's last step"
    ]


def test_in_a_pid_namespace_the_number_is_somebody_else_s() -> None:
    line = f"sshd[{TRAINER_PID}]: {SEGFAULT}"
    seen = _of_kernel_log(kernel_faults=[line], missing=[OTHER_PID_NUMBERS])
    assert seen == [f"{line} (perhaps one of its threads)"]


def test_a_number_that_was_used_again_is_told_by_the_time() -> None:
    early, late = (f"{who}[{TRAINER_PID}]: {SEGFAULT}" for who in ("helper", "python"))
    ages = {"kernel_fault_ages_seconds": [900.0, 0.0]}
    assert _of_kernel_log(kernel_faults=[early, late], **ages) == [late]


def test_a_failed_check_is_quoted() -> None:
    line = "F tensor.cc:733] Check failed: 1 == NumElements()"
    evidence = finding_of(failed(killed("SIGABRT"), output=f"noise\n{line}\nmore")).evidence
    assert line in [item.text for item in evidence]


def test_a_crash_without_frames_says_how_to_get_them() -> None:
    finding = finding_of(failed(killed("SIGSEGV")))
    assert "faulthandler" in finding.advice[0]
    assert "the Python frame that crashed" in finding.missing


def test_the_last_words_of_native_code_are_told() -> None:
    finding = finding_of(failed(killed("SIGABRT"), output="double free or corruption (!prev)\n"))
    assert finding.summary.endswith(": double free or corruption (!prev).")
    assert "double free or corruption (!prev)" in [item.text for item in finding.evidence]


@pytest.mark.parametrize(("address", "is_full"), [("7ffeed1f4ff8", True), ("7ffe00000000", False)])
def test_a_crash_right_below_the_stack_is_an_overflow(address: str, is_full: bool) -> None:
    line = f"python[{TRAINER_PID}]: segfault at {address} ip 00007f8c sp 00007ffeed1f5000 error 6"
    finding = finding_of(failed(killed("SIGSEGV", kernel_faults=[line])))
    assert finding.cause == "native_crash"
    assert ("recursion" in finding.summary) is is_full


def test_a_crash_after_the_training_says_so() -> None:
    finding = finding_of(failed(fit_ended(), killed("SIGSEGV", kernel_faults=None)))
    assert "after the training had ended" in finding.summary
