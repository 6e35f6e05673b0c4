"""Faults that a GPU reported: the hardware's, the program's, and those that ended nothing."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import CauseId, Evidence, diagnose
from pitstop.diagnosis.evidence import FlightRecord
from pitstop.events import TrainerConnected
from pitstop.flight.sample import GpuSample
from tests.diagnosis.attempts import (
    CONNECTED,
    FINISHED,
    STARTED,
    Case,
    as_parameters,
    attempt_of,
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


TF = "OpError Exception BaseException"
ON_A_GPU = replace(CONNECTED, versions={"device": "1 x NVIDIA H100 80GB HBM3, TensorFloat-32"})
ON_A_CPU = replace(CONNECTED, versions={"device": "CPU"})
NOT_NAMED = (
    "Graph execution error:\n\nDetected at node model/tanh/Tanh defined at (most recent call last):"
    '\n  File "train.py", line 5, in <module>\n\nfailed to allocate memory\n'
    "\t [[{{node model/tanh/Tanh}}]]\nHint: If you want to see a list of tensors when OOM "
    "happens, add report_tensor_allocations_upon_oom to RunOptions. [Op:__inference_step_957]"
)
BY_XLA = (
    "Graph execution error:\n\nDetected at node StatefulPartitionedCall\n"
    "Out of memory while trying to allocate 4B.\n\t [[{{node StatefulPartitionedCall}}]]"
)
OF_THE_HOST = "OOM when allocating tensor with shape[900000] and type float by allocator mklcpu"


def refused(connected: TrainerConnected, message: str) -> Evidence:
    return attempt_of(
        STARTED,
        connected,
        raised("tensorflow.errors.ResourceExhaustedError", message, TF),
        exited(1),
        state="failed",
    )


MEMORY: list[Case] = [
    ("memory for an op, no device named", refused(ON_A_GPU, NOT_NAMED), "gpu_oom"),
    ("memory for XLA, no device named", refused(ON_A_GPU, BY_XLA), "gpu_oom"),
    ("memory of the host", refused(ON_A_GPU, OF_THE_HOST), "host_alloc_failure"),
    ("no GPU is used", refused(ON_A_CPU, NOT_NAMED), "host_alloc_failure"),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters([*CASES, *MEMORY]))
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
