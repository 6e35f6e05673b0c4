"""How long to wait before the next try.  Pure."""

from __future__ import annotations

FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0


def delay_seconds(failures: int, chance: float) -> float:
    """The wait after failures in a row.

    Doubles from one second to a minute, times something between a half and one, so
    that many runs that lost the same server do not come back in step ("equal
    jitter", AWS Architecture Blog, "Exponential Backoff And Jitter").
    """
    # The exponent is bounded too: a long outage must not overflow a float.
    whole = min(FIRST_SECONDS * 2.0 ** min(failures - 1, 16), LONGEST_SECONDS)
    return whole * (0.5 + 0.5 * chance)
