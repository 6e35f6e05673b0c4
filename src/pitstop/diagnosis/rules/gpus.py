"""Faults that the GPU's driver itself reported while the attempt ran.

Numbers: NVIDIA's "XID Errors" catalogue, part of the GPU Deployment and Management
Documentation.  A program may bring some of them upon itself; others are the hardware's.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.wording import tell
from pitstop.flight.sample import GpuSample

_HARDWARE: Mapping[int, str] = MappingProxyType(
    {
        48: "an error in its memory that could not be corrected",
        62: "its internal processor halted",
        64: "a page of its memory could not be retired",
        74: "an error on its NVLink",
        79: "it has fallen off the bus",
        92: "too many errors in its memory that were corrected",
        94: "an error in its memory that was contained to this program",
        95: "an error in its memory that was not contained",
        119: "its firmware does not answer",
        120: "its firmware failed",
    }
)
_PROGRAM: Mapping[int, str] = MappingProxyType(
    {
        13: "a kernel of the program failed",
        31: "the program touched memory of the GPU that is not its own",
        43: "the program's work on it was stopped",
        45: "the program's work on it was cleaned up",
    }
)

_OF_A_DEVICE = frozenset(
    {
        *("OpError", "InternalError", "UnknownError", "AbortedError", "FailedPreconditionError"),
        *("XlaRuntimeError", "JaxRuntimeError", "RuntimeError", "ResourceExhaustedError"),
    }
)
"""Exceptions by which a framework tells of a device; others are the script's own."""

_REMARK = 0.35


def gpu_fault(evidence: Evidence) -> Finding | None:
    """A GPU of the run had a critical error, and the attempt failed."""
    gpus = evidence.flight.gpus if evidence.flight else ()
    faulty = next((each for each in gpus if each.xid is not None), None)
    if faulty is None or faulty.xid is None or evidence.state != "failed":
        return None
    return tell(
        "faulty_gpu" if faulty.xid in _HARDWARE else "faulty_kernel",
        _seen(faulty),
        confidence=None if _may_be_it(evidence) else _REMARK,
        index=faulty.index,
        name=faulty.name,
        xid=faulty.xid,
        words=_HARDWARE.get(faulty.xid) or _PROGRAM.get(faulty.xid, "see NVIDIA's catalogue"),
    )


def _may_be_it(evidence: Evidence) -> bool:
    """Whether the end is one that a fault of a device brings."""
    raised = evidence.raised
    return bool(raised.names & _OF_A_DEVICE) if raised else bool(evidence.signal)


def _seen(gpu: GpuSample) -> tuple[EvidenceItem, ...]:
    items = [EvidenceItem("GPU", f"Xid {gpu.xid} of GPU {gpu.index} during the attempt")]
    if gpu.ecc_errors:
        text = f"uncorrected memory errors of GPU {gpu.index} since the reboot: {gpu.ecc_errors}"
        items.append(EvidenceItem("GPU", text))
    if gpu.throttled:
        items.append(EvidenceItem("GPU", f"its clock was held down: {', '.join(gpu.throttled)}"))
    return tuple(items)
