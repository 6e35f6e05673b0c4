"""How low and how high something was, in blocks of time of several lengths.  Pure.

The lows are what a leak raises: a cache that is dropped, a garbage collector and the
peaks of every step leave them where they were.
"""

from __future__ import annotations

from dataclasses import replace

from pitstop.flight.trend import Point
from pitstop.record import record

BLOCK_SECONDS = (2.0, 8.0, 32.0, 128.0, 512.0, 2048.0)
MOST_BLOCKS = 48


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
    """The same values at every scale, and the highest of all so far."""

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
