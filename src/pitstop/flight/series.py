"""One thing over time, from samples: for plots and rules.  Pure."""

import itertools
import math
import statistics
from collections.abc import Callable, Sequence
from itertools import pairwise

from pitstop.flight.sample import Sample
from pitstop.record import Frozen

_NORMAL_95 = 1.96


class Point(Frozen):
    time_seconds: float
    value: float


class Trend(Frozen):
    """A robust line through points.

    The slope is that of Theil (1950) and Sen (1968, "Estimates of the Regression Coefficient Based
    on Kendall's Tau"), whose interval comes from the ordered slopes; the steadiness is Kendall's
    tau (1938), as in the trend test of Mann (1945).
    """

    per_second: float  # the median slope
    low: float  # the lower bound of its 95 % interval
    tau: float  # 1 where every later point is higher, 0 without a direction, -1 where lower


def trend(points: Sequence[Point]) -> Trend:
    pairs = list(itertools.combinations(points, 2))
    slopes = sorted(
        (b.value - a.value) / (b.time_seconds - a.time_seconds)
        for a, b in pairs
        if b.time_seconds != a.time_seconds
    )
    # Sen's interval: ranks around the median by the variance of Kendall's statistic.
    count = len(points)
    spread = _NORMAL_95 * math.sqrt(count * (count - 1) * (2 * count + 5) / 18)
    below = int((len(slopes) - spread) / 2)
    low = slopes[max(0, below)]
    concordant = sum(b.value > a.value for a, b in pairs) - sum(b.value < a.value for a, b in pairs)
    return Trend(statistics.median(slopes), low, concordant / len(pairs))


Series = tuple[Point, ...]
"""Points in the order of their times, seconds since the epoch; what is not known is left out."""


def memory(samples: Sequence[Sample]) -> Series:
    """Bytes that the processes of the command occupy; one that is ending has none any more."""
    return _series(samples, lambda each: each.memory_bytes or None)


def open_files(samples: Sequence[Sample]) -> Series:
    return _series(samples, lambda each: each.trainer.open_files if each.trainer else None)


def learning_rate(samples: Sequence[Sample]) -> Series:
    return _series(samples, lambda each: each.training.learning_rate if each.training else None)


def step_rate(samples: Sequence[Sample]) -> Series:
    return _rates(samples, lambda each: each.training.step if each.training else None)


def cpu_share(samples: Sequence[Sample]) -> Series:
    return _rates(samples, lambda each: each.trainer.cpu_seconds if each.trainer else None)


def input_share(samples: Sequence[Sample]) -> Series:
    told = [
        (each.time_seconds, each.training.step_seconds, each.training.input_seconds or 0.0)
        for each in samples
        if each.training and each.training.step_seconds is not None
    ]
    return tuple(
        Point(at, min(1.0, max(0.0, (waits - before[2]) / (steps - before[1]))))
        for before, (at, steps, waits) in pairwise(told)
        if steps > before[1]
    )


def disk_free(samples: Sequence[Sample], mount: str) -> Series:
    def free(sample: Sample) -> int | None:
        asked = (each for each in sample.disks if each.answers)
        return next((each.free_bytes for each in asked if each.mount == mount), None)

    return _series(samples, free)


def of_gpu(samples: Sequence[Sample], index: int, name: str) -> Series:
    """One field of a `GpuSample`."""

    def value(sample: Sample) -> float | None:
        return next((getattr(gpu, name) for gpu in sample.gpus if gpu.index == index), None)

    return _series(samples, value)


def _series(samples: Sequence[Sample], value: Callable[[Sample], float | None]) -> Series:
    found = ((each.time_seconds, value(each)) for each in samples)
    return tuple(
        Point(time, float(known))
        for time, known in found
        if known is not None and math.isfinite(known)
    )


def _rates(samples: Sequence[Sample], count: Callable[[Sample], float | None]) -> Series:
    """How fast a count rises; a count that falls belongs to another process."""
    points = []
    for before, after in pairwise(samples):
        first, second = count(before), count(after)
        seconds = after.clock_seconds - before.clock_seconds
        if first is not None and second is not None and seconds > 0 and second >= first:
            points.append(Point(after.time_seconds, (second - first) / seconds))
    return tuple(points)
