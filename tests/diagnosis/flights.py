"""What a flight recorder would have seen of an attempt, by hand."""

from __future__ import annotations

from dataclasses import replace

from pitstop.diagnosis import Evidence
from pitstop.diagnosis.evidence import FlightRecord, MemoryUse

GB = 10**9
_SECONDS = 600.0


def steady(last_gb: float, limit_gb: float, left_gb: float, by: str = "machine") -> MemoryUse:
    """Memory that stayed as it was."""
    last, limit_bytes, left_bytes = last_gb * GB, int(limit_gb * GB), int(left_gb * GB)
    return MemoryUse(last, last, 0.0, _SECONDS, limit_bytes, by, left_bytes)


def growing(last_gb: float, limit_gb: float, left_gb: float, by: str = "machine") -> MemoryUse:
    """Memory that grew from a half, by 3 GB a minute in the end."""
    last = steady(last_gb, limit_gb, left_gb, by)
    return replace(last, first=last.last / 2, per_second=GB / 20)


def with_memory(evidence: Evidence, memory: MemoryUse) -> Evidence:
    return replace(evidence, flight=FlightRecord(memory))
