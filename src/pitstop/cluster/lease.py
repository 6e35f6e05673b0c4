"""How long a silent supervisor is believed to be there.  Pure."""

from __future__ import annotations

from dataclasses import replace

from pitstop.record import record

BEAT_SECONDS = 1.0
"""Between two beats."""
LEASE_SECONDS = 10.0
"""Without a beat, until somebody is taken for gone."""
PARTED_SECONDS = 2.0
"""The same where the connection is closed: who is there comes back sooner."""


@record
class BeatLease:
    """When a beat of one supervisor was heard last, by a monotonic clock, and how long it holds.

    `suspended`: it said that it will be silent, see `Beat.state`.
    """

    length_seconds: float
    heard_seconds: float
    suspended: bool = False

    def renewed(self, now_seconds: float, *, suspended: bool) -> BeatLease:
        return replace(self, heard_seconds=now_seconds, suspended=suspended)

    def parted(self, now_seconds: float) -> BeatLease:
        """The lease after the connection was closed."""
        ends_seconds = min(self.heard_seconds + self.length_seconds, now_seconds + PARTED_SECONDS)
        return replace(self, heard_seconds=ends_seconds - self.length_seconds, suspended=False)

    def shifted(self, seconds: float) -> BeatLease:
        """The lease when nobody has listened for so long."""
        return replace(self, heard_seconds=self.heard_seconds + seconds)

    def is_over(self, now_seconds: float) -> bool:
        """Whether nothing was heard for too long."""
        return not self.suspended and now_seconds - self.heard_seconds >= self.length_seconds
