"""Values and times as a person reads them.  Pure."""

from __future__ import annotations

from datetime import datetime, tzinfo

from pitstop.diagnosis import phrases
from pitstop.report.timeline import Unit


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


def clock(seconds: float, zone: tzinfo | None = None) -> str:
    """`2026-11-21 14:02:11 UTC`, in the zone of this machine unless another is given."""
    when = datetime.fromtimestamp(seconds, zone).astimezone(zone)
    return when.strftime("%Y-%m-%d %H:%M:%S %Z").strip()
