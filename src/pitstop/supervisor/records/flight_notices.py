"""What the user is told of the flight recorder's forecasts.  Pure."""

from __future__ import annotations

from pitstop.durations import about
from pitstop.events import ExhaustionForecast

_NAMES = {
    "memory": "memory",
    "disk": "disk space",
    "open_files": "open files",
    "tasks": "processes and threads",
}
_LIMITED_BY = {"cgroup": " of its cgroup", "machine": " of the machine"}
_BYTES = frozenset({"memory", "disk"})


def forecast_line(event: ExhaustionForecast) -> str:
    """The warning, for the terminal."""
    name = _NAMES.get(event.resource, event.resource)
    place = _LIMITED_BY.get(event.place, f" on {event.place}" if event.place else "")
    grown = f"for {about(event.window_seconds)} it has taken {_rate(event)} more"
    python = ", and so do Python's objects" if event.growing == "python" else ""
    left = f"{_amount(event.resource, event.left)} are left{place}"
    return f"out of {name} in about {about(event.seconds_left)}: {grown}{python}; {left}."


def short_forecast(event: ExhaustionForecast) -> str:
    """The same in a few words, for a status."""
    name = _NAMES.get(event.resource, event.resource)
    return f"out of {name} in about {about(event.seconds_left)}"


def _rate(event: ExhaustionForecast) -> str:
    """An amount over the time in which it can be pictured: a second, a minute or an hour."""
    for unit, size in (("second", 1), ("minute", 60), ("hour", 3600)):
        amount = event.per_second * size
        if amount >= (1e6 if event.resource in _BYTES else 1.0) or unit == "hour":
            return f"{_amount(event.resource, amount)} each {unit}"
    return ""


def _amount(resource: str, amount: float) -> str:
    if resource not in _BYTES:
        return f"{amount:,.0f}"
    return f"{amount / 1e9:,.1f} GB" if amount >= 1e9 else f"{amount / 1e6:,.1f} MB"
