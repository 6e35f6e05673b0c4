"""Who may write a mirror: a record in it, renewed while its holder lives.

A lease is a promise between runs of Pitstop, not a lock: see docs/remote.md for
what it cannot prevent.
"""

from __future__ import annotations

import enum
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pitstop.record import record

RENEW_SECONDS = 15.0
EXPIRY_SECONDS = 60.0
"""A lease that is not renewed for this time has no owner."""

ABANDONED_SECONDS = 600.0
"""A lease this old by the clocks is not watched first: no two clocks differ so much."""

LIVE = "live"
FINISHING = "finishing"
RELEASED = "released"

_FORMAT = "pitstop-lease"


@record
class Lease:
    """The holder of a mirror.

    Attributes:
        machine: one boot of one machine, and the process ids that `pid` counts among.
        start_time_ticks: of that process, see `store.lock.LockRecord`.
        state: "live"; "finishing" when only the last uploads are left; "released".
    """

    holder: str
    host: str
    machine: str
    pid: int
    start_time_ticks: int
    state: str
    renewed_seconds: float


class LeaseVerdict(enum.Enum):
    """What to do about a lease that was found."""

    TAKE = "take"
    WAIT = "wait"
    REFUSE = "refuse"


def judge(
    lease: Lease,
    *,
    here: bool,
    holder_alive: bool,
    renewed: bool,
    unchanged_seconds: float,
    age_seconds: float,
) -> LeaseVerdict:
    """Whether the mirror may be taken, is in use, or needs another look.

    `here`: it was written on this machine since its boot.  `unchanged_seconds` count from its last
    change under our eyes, `age_seconds` by the two machines' clocks.
    """
    if lease.state == RELEASED or (here and not holder_alive):
        return LeaseVerdict.TAKE
    if max(unchanged_seconds / EXPIRY_SECONDS, age_seconds / ABANDONED_SECONDS) >= 1:
        return LeaseVerdict.TAKE
    if lease.state == FINISHING:
        return LeaseVerdict.WAIT
    return LeaseVerdict.REFUSE if here or renewed else LeaseVerdict.WAIT


def encode(lease: Lease) -> bytes:
    return json.dumps({"format": _FORMAT, "version": 1, **asdict(lease)}, indent=2).encode()


def decode(data: bytes) -> Lease | None:
    """The lease that `encode` wrote; None for anything else, which protects nothing."""
    try:
        record: Mapping[str, Any] = json.loads(data)
        return Lease(
            holder=str(record["holder"]),
            host=str(record["host"]),
            machine=str(record["machine"]),
            pid=int(record["pid"]),
            start_time_ticks=int(record["start_time_ticks"]),
            state=str(record["state"]),
            renewed_seconds=float(record["renewed_seconds"]),
        )
    except (ValueError, KeyError, TypeError):
        return None
