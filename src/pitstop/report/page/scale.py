"""Where a value lies on an axis, and which values are written beside it.  Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pitstop.record import Frozen
from pitstop.report.timeline import Panel, Unit

_NICE = (1.0, 2.0, 5.0, 10.0)
_LOGARITHMIC_FROM = 50.0
"""Losses with a larger ratio of the largest to the least are drawn on a logarithmic scale."""
_FAR_LIMIT = 4.0
"""A limit that is higher than everything measured by this factor would flatten the line."""
_PADDING = 0.06
_EQUAL = 1e-12
_TINY = 1e-290  # values below cannot be divided any more without becoming nothing
_SECONDS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAY = 86400
_SHORTEST = 0.1


class Scale(Frozen):
    """An axis from `low` to `high`; on a logarithmic one equal distances are equal ratios."""

    low: float
    high: float
    is_log: bool = False

    def place(self, value: float) -> float:
        return self.places([value])[0]

    def places(self, values: Sequence[float]) -> list[float]:
        low, high = self.low, self.high
        if self.is_log:
            values = [math.log10(max(each, low)) for each in values]
            low, high = math.log10(low), math.log10(high)
        span = high - low
        return [min(1.0, max(0.0, (each - low) / span)) for each in values]

    def ticks(self, count: int) -> tuple[float, ...]:
        if not self.is_log:
            return round_values(self.low, self.high, count)
        first, last = math.ceil(math.log10(self.low)), math.floor(math.log10(self.high))
        every = max(1, math.ceil((last - first + 1) / count))
        return tuple(10.0**power for power in range(first, last + 1, every))


def scale_of(panel: Panel) -> Scale:
    values = panel.values()
    low, high = min(values), max(values)
    if panel.unit is not Unit.PLAIN:
        top = _top(panel, high)
        return Scale(0.0, top * (1 + _PADDING) if top > _TINY else 1.0)
    if low > _TINY and high / low >= _LOGARITHMIC_FROM:
        return Scale(low / 1.2, high * 1.2, is_log=True)
    margin = _PADDING * (high - low)
    if margin <= _TINY + _EQUAL * abs(high):
        margin = _PADDING * abs(high) if abs(high) > _TINY else 1.0
    return Scale(low - margin, high + margin)


def axis(low: float, high: float) -> Scale:
    """What a page is wide for; of some width where both ends are the same."""
    return Scale(low, high if high > low else low + 1.0)


def shows_limit(panel: Panel, scale: Scale) -> bool:
    return panel.limit is not None and panel.limit <= scale.high


def round_values(low: float, high: float, count: int) -> tuple[float, ...]:
    """About `count` multiples of 1, 2 or 5 times a power of ten, all within."""
    rough = (high - low) / count
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(nice * power for nice in _NICE if nice * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return tuple(round(index * step, 12) for index in range(first, last + 1))


def time_ticks(seconds: float, count: int) -> tuple[float, ...]:
    """About `count` round times from 0 on, as people count time."""
    rough = seconds / count
    if rough < 1:
        return round_values(0.0, seconds, count) if seconds >= _SHORTEST else (0.0,)
    step = next((each for each in _SECONDS if each >= rough), None)
    step = step or _DAY * math.ceil(rough / _DAY)
    return tuple(float(index * step) for index in range(int(seconds // step) + 1))


def _top(panel: Panel, high: float) -> float:
    if panel.limit is not None and panel.limit <= _FAR_LIMIT * high:
        return max(high, panel.limit)
    return high
