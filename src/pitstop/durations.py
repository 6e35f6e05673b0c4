"""Durations in words; the wait before another try."""

import math

_UNITS = ((86400, "d", 3600, "h"), (3600, "h", 60, "min"), (60, "min", 1, "s"))


def duration(seconds: float) -> str:
    """`0.5 s`, `12 s`, `4 min 10 s`, `3 h 5 min`, `2 d 4 h`."""
    if not math.isfinite(seconds):
        return "an unknown time"  # a record may say so that somebody else has written
    whole = round(seconds)
    for size, unit, smaller, smaller_unit in _UNITS:
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {unit}" + (f" {rest} {smaller_unit}" if rest else "")
    return f"{seconds:.2g} s" if seconds < 10 else f"{whole} s"


def wait(seconds: float) -> str:
    """`at once`, `in 1.3 s`."""
    return f"in {duration(seconds)}" if seconds else "at once"


def about(seconds: float) -> str:
    """`40 seconds`, `5 minutes`, `3 hours`, `2 days`: to the precision of a forecast."""
    if not math.isfinite(seconds):
        return duration(seconds)
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 1.5 * size:
            return f"{round(seconds / size)} {unit}s"
    return f"{max(1, round(seconds))} seconds"


FIRST_SECONDS = 1.0
LONGEST_SECONDS = 60.0


def delay_seconds(failures: int, chance: float) -> float:
    """The wait after failures in a row.

    It doubles from one second to a minute.  A factor between a half and one keeps runs that lost
    the same server from returning at the same time.  ("Equal jitter" in "Exponential Backoff And
    Jitter", AWS Architecture Blog.)
    """
    # The exponent is bounded too: a long outage must not overflow a float.
    whole = min(FIRST_SECONDS * 2.0 ** min(failures - 1, 16), LONGEST_SECONDS)
    return whole * (0.5 + 0.5 * chance)
