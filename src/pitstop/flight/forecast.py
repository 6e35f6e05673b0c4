"""Whether something runs out, and when: rules for leaks.  Pure.

A warning must be right, so a growth has to be long, steady and new before it counts:

- its lows rise in nearly every block of a window;
- slowing down as it does from the first half of the window to the second, it would still
  meet the limit: what fills up (a cache, an allocator's pools) ends before;
- it reaches values that were never reached before: a sawtooth does not;
- it would use up what is left within three times the window, so that it has taken a
  quarter of what there was;
- a growth of the first epoch may end with it (`Dataset.cache`): it counts where what is
  left is gone before that end;
- nothing is reported that would happen after the end of the training.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

from pitstop.flight.series import Point, Trend, trend
from pitstop.record import record

BLOCK_SECONDS = (2.0, 8.0, 32.0, 128.0, 512.0, 2048.0)
MOST_BLOCKS = 48
HORIZON_WINDOWS = 3.0
"""How far a forecast reaches ahead, in windows that it looked back."""

_FEWEST_BLOCKS = MOST_BLOCKS // 2
_STEADY_TAU = 0.9
_NEW_HIGH_SHARE = 0.98


@record
class Block:
    """A stretch of time: when it began, and the lowest and highest value in it."""

    begin_seconds: float
    low: float
    high: float


@record
class MixedScale:
    """The last blocks of one length; the newest one is still growing."""

    block_seconds: float
    blocks: tuple[Block, ...] = ()

    def lows(self) -> tuple[Point, ...]:
        """The lowest values of the blocks that are over."""
        return tuple(Point(each.begin_seconds, each.low) for each in self.blocks[:-1])


@record
class Envelope:
    """The same values at every scale, and the highest of all so far.

    The lows are what a leak raises: a cache that is dropped, a garbage collector and the peaks of
    every step leave them where they were.
    """

    scales: tuple[MixedScale, ...] = tuple(MixedScale(seconds) for seconds in BLOCK_SECONDS)
    highest: float = 0.0


def extended(envelope: Envelope, time_seconds: float, value: float) -> Envelope:
    """The envelope with one more value; times rise."""
    scales = tuple(_with_value(scale, time_seconds, value) for scale in envelope.scales)
    return Envelope(scales, max(envelope.highest, value))


def _with_value(scale: MixedScale, time_seconds: float, value: float) -> MixedScale:
    begin = time_seconds - time_seconds % scale.block_seconds
    last = scale.blocks[-1] if scale.blocks else None
    if last is None or last.begin_seconds < begin:
        blocks = (*scale.blocks, Block(begin, value, value))[-MOST_BLOCKS:]
        return replace(scale, blocks=blocks)
    widened = Block(last.begin_seconds, min(last.low, value), max(last.high, value))
    return replace(scale, blocks=(*scale.blocks[:-1], widened))


@record
class Outlook:
    """How long the training goes on, in seconds; None where it is not known."""

    first_epoch: bool = False
    epoch_seconds_left: float | None = None
    seconds_left: float | None = None


@record
class Forecast:
    """Something that grows steadily and will meet its limit.

    If it goes on as it was seen to grow in the window, the limit comes between the soonest and the
    latest time with 95 %.
    """

    per_second: float
    seconds_left: float
    soonest_seconds: float
    latest_seconds: float
    window_seconds: float


def forecast(envelope: Envelope, left: float, outlook: Outlook) -> Forecast | None:
    """When what is left of a resource will be used up; None where nothing says that it will."""
    found = (_at_scale(scale, envelope.highest, left, outlook) for scale in envelope.scales)
    return min(
        (each for each in found if each is not None),
        key=lambda each: each.seconds_left,
        default=None,
    )


def is_growing(envelope: Envelope) -> bool:
    """Whether it grows steadily at any scale, wherever that leads."""
    return any(_steady(scale) is not None for scale in envelope.scales)


def _at_scale(scale: MixedScale, highest: float, left: float, outlook: Outlook) -> Forecast | None:
    line = _steady(scale)
    newest = scale.blocks[-(len(scale.blocks) // 3) :]
    is_high = max((each.high for each in newest), default=0.0) >= _NEW_HIGH_SHARE * highest
    if line is None or not is_high or _growth_to_come(scale) < left:
        return None
    window = scale.blocks[-1].begin_seconds - scale.blocks[0].begin_seconds
    seconds_left = left / line.per_second
    if seconds_left > min(_limits(window, outlook)):
        return None
    return Forecast(
        per_second=line.per_second,
        seconds_left=seconds_left,
        soonest_seconds=left / line.high,
        latest_seconds=left / line.low,
        window_seconds=window,
    )


def _steady(scale: MixedScale) -> Trend | None:
    """The growth of a scale's lows, None where it is none that lasts."""
    points = scale.lows()
    if len(points) < _FEWEST_BLOCKS or points[-1].value <= points[0].value:
        return None
    line = trend(points)
    return line if line.tau >= _STEADY_TAU and line.low > 0.0 else None


def _growth_to_come(scale: MixedScale) -> float:
    """How much more it grows if each half window adds as much less as the second did."""
    points = scale.lows()
    half = len(points) // 2
    first, second = trend(points[:half]).per_second, trend(points[half:]).per_second
    if second >= first:
        return math.inf
    seconds = points[-1].time_seconds - points[half].time_seconds
    lasting = max(0.0, second / first)
    return second * seconds * lasting / (1.0 - lasting)


def _limits(window_seconds: float, outlook: Outlook) -> Iterator[float]:
    """The times behind which a forecast tells nothing."""
    yield HORIZON_WINDOWS * window_seconds
    if outlook.seconds_left is not None:
        yield outlook.seconds_left
    if outlook.first_epoch:
        known = outlook.epoch_seconds_left
        yield window_seconds if known is None else known
