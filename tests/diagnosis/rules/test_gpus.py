"""Faults that a GPU reported: the hardware's, the program's, and those that ended nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.diagnosis.evidence import FlightRecord
from pitstop.flight.sample import GpuSample
from tests.diagnosis.attempts import (
    FINISHED,
    Case,
    as_parameters,
    check,
    completed,
    exited,
    failed,
    finding_of,
    killed,
    raised,
)


def seen(evidence: Evidence, xid: int | None, ecc_errors: int | None = None) -> Evidence:
    gpu = GpuSample(1, "H200", xid=xid, ecc_errors=ecc_errors)
    return replace(evidence, flight=FlightRecord(gpus=(GpuSample(0, "H200"), gpu)))


LAUNCH = raised("InternalError", "CUDA_ERROR_LAUNCH_FAILED: unspecified launch failure", "OpError")

CASES: list[Case] = [
    ("fallen off the bus", seen(failed(LAUNCH, exited(1)), 79), "gpu_driver_or_library"),
    ("its crash", seen(failed(killed("SIGABRT")), 48), "gpu_driver_or_library"),
    ("a crash, and a fault of the program", seen(failed(killed("SIGABRT")), 31), "native_crash"),
    ("no fault", seen(failed(raised("KeyError", "x"), exited(1)), None), "user_code_error"),
    (
        "a fault, and then the script's own",
        seen(failed(raised("KeyError"), exited(1)), 79),
        "user_code_error",
    ),
    ("a fault that ended nothing", seen(completed(*FINISHED), 94), "completed_normally"),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_the_gpu_and_its_number_are_told() -> None:
    finding = finding_of(seen(failed(LAUNCH, exited(1)), 79, ecc_errors=3))
    assert finding.summary == "GPU 1 (H200) reported Xid 79: it has fallen off the bus."
    assert "uncorrected memory errors of GPU 1 since the reboot: 3" in [
        item.text for item in finding.evidence
    ]


def test_a_fault_of_the_program_is_a_remark() -> None:
    others = diagnose(seen(failed(killed("SIGABRT")), 31)).others
    assert [each.cause for each in others] == ["gpu_driver_or_library"]
