"""Deaths in native code (36 to 41)."""

from __future__ import annotations

from benchmarks.faults.ground import namespace, words
from benchmarks.faults.scenario import Scenario, scenario
from benchmarks.faults.strikes import signals_ready

NATIVE: tuple[Scenario, ...] = (
    scenario(
        "36a-segfault-in-an-epoch",
        "native_crash",
        args="--decoys memory benign",
        fault="segfault@batch:27",
        among="sigsegv",
    ),
    scenario(
        "36b-segfault-while-tracing",
        "native_crash",
        args="--model digits --input pipeline",
        fault="segfault@trace",
        among="sigsegv",
    ),
    scenario(
        "36c-segfault-with-faulthandler",
        "native_crash",
        args="--model text",
        fault="segfault@batch:27",
        among="sigsegv",
        says=r"faults\.py:\d+ in segfault",
        grounds=(words(PYTHONFAULTHANDLER="1"),),
    ),
    scenario(
        "37-segfault-sent-from-outside",
        "killed_from_outside",
        fault="wait@batch:27",
        among="sigsegv",
        strike=signals_ready("SEGV"),
    ),
    scenario(
        "38a-abort-in-native-code",
        "native_crash",
        fault="native_abort@batch:27",
        among="sigabrt",
        says="SIGABRT",
    ),
    scenario(
        "38b-abort-by-the-script",
        "user_code_error",
        "native_crash",
        args="--model text",
        fault="abort@batch:27",
        among="sigabrt",
        says="SIGABRT",
    ),
    scenario("39a-illegal-instruction-import", "illegal_instruction", fault="illegal@import"),
    scenario(
        "39b-illegal-instruction-in-an-epoch",
        "illegal_instruction",
        args="--model text --input pipeline",
        fault="illegal@batch:27",
    ),
    scenario(
        "40-shared-memory-full",
        "shm_exhausted",
        fault="shm@batch:12",
        among="sigbus",
        grounds=(namespace("mount -t tmpfs -o size=24m faults /dev/shm"),),
    ),
    scenario(
        "41-mapped-file-cut-short",
        "native_crash",
        args="--model digits",
        fault="truncated@batch:12",
        among="sigbus",
        says="SIGBUS",
    ),
)
