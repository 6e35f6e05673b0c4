"""Amounts as a person writes them: `10min`, `500steps`, `2GB`, `1%`; others are a `ValueError`."""

import re
from collections.abc import Callable, Mapping

import click

from pitstop.record import Frozen
from pitstop.store.best_rule import parse_best_rule
from pitstop.supervisor.stops import signals, stop_condition

_NUMBER = r"\s*([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*"
_AMOUNT = re.compile(rf"{_NUMBER}([A-Za-z%]*)\s*$")
_PART = re.compile(rf"{_NUMBER}([A-Za-z]+)")
_PARTS = re.compile(rf"(?:{_PART.pattern})+\s*$")
_SECONDS: Mapping[str, float] = {
    "": 1, "s": 1, "sec": 1, "m": 60, "min": 60, "h": 3600, "hour": 3600, "hours": 3600,
    "d": 86400, "ms": 1e-3,
}  # fmt: skip
_BYTES: Mapping[str, float] = {
    "": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
    "kib": 2**10, "mib": 2**20, "gib": 2**30, "tib": 2**40, "k": 2**10, "m": 2**20, "g": 2**30,
}  # fmt: skip
_NAME = re.compile(r"(?!\d+$)[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")
_STEPS = frozenset({"step", "steps"})
_MOST_OVERHEAD = 0.5
_LEAST_FLIGHT_SECONDS = 0.1


class Interval(Frozen):
    """A fixed interval; the other one is 0."""

    steps: int = 0
    seconds: float = 0.0


def parse_seconds(text: str) -> float:
    """`30s`, `10min`, `1.5h`, `3h50m`; a bare number is seconds."""
    parts = _PART.findall(text) if _PARTS.match(text) else [_split(text)]
    if not all(unit.lower() in _SECONDS for _, unit in parts):
        raise ValueError(f"{text!r} is not a valid time; examples: 30s, 10min, 3h50m")
    return sum(float(amount) * _SECONDS[unit.lower()] for amount, unit in parts)


def parse_bytes(text: str) -> int:
    """`2GB`, `512MiB`; a bare number is bytes."""
    amount, unit = _split(text)
    if unit not in _BYTES:
        raise ValueError(f"{text!r} is not a valid size; examples: 2GB, 512MiB")
    return int(amount * _BYTES[unit])


def parse_share(text: str) -> float:
    """`1%` or `0.01`, above 0 and at most one half."""
    amount, unit = _split(text)
    share = amount / 100 if unit == "%" else amount
    if unit not in ("", "%") or not 0 < share <= _MOST_OVERHEAD:
        raise ValueError(f"{text!r} is not a percentage between 0% and 50%; example: 1%")
    return share


def parse_interval(text: str) -> Interval:
    amount, unit = _split(text)
    steps = unit in _STEPS
    if not unit or amount <= 0 or (steps and amount != int(amount)):
        raise ValueError(f"{text!r} is not a valid interval; examples: 500steps, 10min")
    return Interval(steps=int(amount)) if steps else Interval(seconds=parse_seconds(text))


def _split(text: str) -> tuple[float, str]:
    match = _AMOUNT.match(text)
    return (float(match[1]), match[2].lower()) if match else (0.0, "not an amount")


class Quantity(click.ParamType[object]):
    """A click type made of a parser: what it refuses is a usage error."""

    def __init__(self, name: str, parse: Callable[[str], object]) -> None:
        self.name = name
        self._parse = parse

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        if not isinstance(value, str):
            return value
        try:
            return self._parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def parse_name(text: str) -> str:
    """A name for a checkpoint: letters, digits, `.`, `_`, `-`, at most 64, and not a number."""
    if not _NAME.match(text):
        raise ValueError(f"{text!r} is not a valid name; example: before-lr-change")
    return text


def parse_flight(text: str) -> float:
    """`1s`, or `off` for 0: the time between two samples, not less than a tenth of a second."""
    if text == "off":
        return 0.0
    seconds = parse_seconds(text)
    if seconds < _LEAST_FLIGHT_SECONDS:
        raise ValueError(f"{text!r} is too short; examples: 1s, 10s, off")
    return seconds


def parse_condition(text: str) -> str:
    if text:
        stop_condition.parse(text)
    return text


NAME = Quantity("name", parse_name)
BEST_RULE = Quantity("rule", parse_best_rule)
SIGNAL_ACTION = Quantity("signal=action", signals.parse_action)
CONDITION = Quantity("condition", parse_condition)
FLIGHT = Quantity("time", parse_flight)
SECONDS = Quantity("time", parse_seconds)
BYTES = Quantity("size", parse_bytes)
SHARE = Quantity("share", parse_share)
INTERVAL = Quantity("interval", parse_interval)
