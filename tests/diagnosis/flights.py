"""What a flight recorder would have seen of an attempt, by hand."""

from __future__ import annotations

from dataclasses import replace

from pitstop.diagnosis import Evidence
from pitstop.flight.sample import Sample
from pitstop.flight.summary import Summary, Used, summarize

GB = 10**9
_SECONDS = 600.0
_EMPTY = summarize([Sample(0, 1000.0, 50.0)])
assert _EMPTY is not None
NOTHING_SEEN: Summary = _EMPTY


def steady(last_gb: float, limit_gb: float, left_gb: float, by: str = "machine") -> Summary:
    """Memory that stayed as it was."""
    return _summary(Used(last_gb * GB, last_gb * GB, last_gb * GB, 0.0, 0.0), limit_gb, left_gb, by)


def growing(last_gb: float, limit_gb: float, left_gb: float, by: str = "machine") -> Summary:
    """Memory that grew from a half, by 3 GB a minute in the end."""
    used = Used(last_gb * GB / 2, last_gb * GB, last_gb * GB, GB / 20, GB / 100)
    return _summary(used, limit_gb, left_gb, by)


def with_flight(evidence: Evidence, flight: Summary) -> Evidence:
    """The evidence with a flight record."""
    return replace(evidence, flight=flight)


def _summary(used: Used, limit_gb: float, left_gb: float, by: str) -> Summary:
    return replace(
        NOTHING_SEEN,
        memory=used,
        memory_limit_bytes=int(limit_gb * GB),
        memory_limited_by=by,
        memory_left_bytes=int(left_gb * GB),
        began_seconds=1000.0,
        ended_seconds=1000.0 + _SECONDS,
    )
