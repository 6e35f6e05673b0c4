"""Faults that the GPU's driver itself reported while the attempt ran.

Numbers: NVIDIA's "XID Errors" catalogue, part of the GPU Deployment and Management
Documentation.  A program may bring some of them upon itself; others are the hardware's.
"""

from __future__ import annotations

from pathlib import Path

from pitstop.diagnosis import signatures
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.wording import read_table, tell
from pitstop.flight.sample import GpuSample

_XIDS = read_table(Path(signatures.__file__).with_name("xids.toml"))

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
    faulty = next((each for each in evidence.flight.gpus if each.xid is not None), None)
    if faulty is None or faulty.xid is None or evidence.state != "failed":
        return None
    xid, raised = str(faulty.xid), evidence.raised
    # The end is one that a fault of a device brings.
    may_be_it = bool(raised.names & _OF_A_DEVICE) if raised else bool(evidence.signal)
    return tell(
        "faulty_gpu" if xid in _XIDS["hardware"] else "faulty_kernel",
        _seen(faulty),
        confidence=None if may_be_it else _REMARK,
        index=faulty.index,
        name=faulty.name,
        xid=xid,
        words={**_XIDS["hardware"], **_XIDS["program"]}.get(xid, "see NVIDIA's catalogue"),
    )


def _seen(gpu: GpuSample) -> tuple[EvidenceItem, ...]:
    items = [EvidenceItem("GPU", f"Xid {gpu.xid} of GPU {gpu.index} during the attempt")]
    if gpu.ecc_errors:
        text = f"uncorrected memory errors of GPU {gpu.index} since the reboot: {gpu.ecc_errors}"
        items.append(EvidenceItem("GPU", text))
    if gpu.throttled:
        items.append(EvidenceItem("GPU", f"its clock was throttled: {', '.join(gpu.throttled)}"))
    return tuple(items)
