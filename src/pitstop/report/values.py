"""Values, durations and times as a person reads them.  Pure."""

from __future__ import annotations

from datetime import datetime, tzinfo

from pitstop.diagnosis import phrases
from pitstop.report.timeline import Unit

_MINUTE, _HOUR, _DAY = 60, 3600, 86400


def value_text(value: float, unit: Unit) -> str:
    """`1.5 GB`, `43%`, `12.3/s`, `61 °C`, or four digits."""
    match unit:
        case Unit.BYTES:
            return phrases.size(round(value))
        case Unit.COUNT:
            return f"{value:,.0f}"
        case Unit.SHARE:
            return f"{value:.0%}"
        case Unit.PER_SECOND:
            return f"{value:.3g}/s" if value < 100 else f"{value:,.0f}/s"
        case Unit.CELSIUS:
            return f"{value:.0f} °C"
        case _:
            return f"{value:.4g}"


def duration(seconds: float) -> str:
    """`12 s`, `4 min 10 s`, `3 h 5 min`, `2 d 4 h`."""
    whole = round(seconds)
    for size, name, smaller, smaller_name in (
        (_DAY, "d", _HOUR, "h"),
        (_HOUR, "h", _MINUTE, "min"),
        (_MINUTE, "min", 1, "s"),
    ):
        if whole >= size:
            rest = whole % size // smaller
            return f"{whole // size} {name}" + (f" {rest} {smaller_name}" if rest else "")
    return f"{seconds:.2g} s" if seconds < 10 else f"{whole} s"


def clock(seconds: float, zone: tzinfo | None = None) -> str:
    """`2026-11-21 14:02:11 UTC`, in the zone of this machine unless another is given."""
    when = datetime.fromtimestamp(seconds, zone).astimezone(zone)
    return when.strftime("%Y-%m-%d %H:%M:%S %Z").strip()
