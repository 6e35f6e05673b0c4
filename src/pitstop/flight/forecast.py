"""Whether something runs out, and when: rules for leaks, and who tells of it once.  Pure."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pitstop.events import ExhaustionForecast
from pitstop.flight.sample import Resource, Sample, TrainingSample, resources
from pitstop.flight.series import Point, Trend, trend
from pitstop.record import Frozen

_JUDGE_SECONDS = 5.0
_NOT_TRAINING = frozenset({"starting", "restoring", "first_step", "ended"})
"""Before the first step is over, buffers fill and code is compiled."""

PYTHON = "python"  # what grows, where the memory blocks of Python's objects do
_PYTHON_KEY = (PYTHON, "")

BLOCK_SECONDS = (2.0, 8.0, 32.0, 128.0, 512.0, 2048.0)
MOST_BLOCKS = 48
HORIZON_WINDOWS = 3.0  # how far a forecast reaches ahead, in windows that it looked back

_FEWEST_BLOCKS = MOST_BLOCKS // 2
_STEADY_TAU = 0.9
_NEW_HIGH_SHARE = 0.98


class Block(Frozen):
    """A stretch of time: when it began, and the lowest and highest value in it."""

    begin_seconds: float
    low: float
    high: float


class TimeScale(Frozen):
    """The last blocks of one length; the newest one is still growing."""

    block_seconds: float
    blocks: tuple[Block, ...] = ()

    def lows(self) -> tuple[Point, ...]:
        return tuple(Point(each.begin_seconds, each.low) for each in self.blocks[:-1])


class Envelope(Frozen):
    """The same values at every scale, and the highest so far; a leak raises the lows."""

    scales: tuple[TimeScale, ...] = tuple(TimeScale(seconds) for seconds in BLOCK_SECONDS)
    highest: float = 0.0


def extended(envelope: Envelope, time_seconds: float, value: float) -> Envelope:
    scales = tuple(_with_value(scale, time_seconds, value) for scale in envelope.scales)
    return Envelope(scales, max(envelope.highest, value))


def _with_value(scale: TimeScale, time_seconds: float, value: float) -> TimeScale:
    begin = time_seconds - time_seconds % scale.block_seconds
    last = scale.blocks[-1] if scale.blocks else None
    if last is None or last.begin_seconds < begin:
        blocks = (*scale.blocks, Block(begin, value, value))[-MOST_BLOCKS:]
        return replace(scale, blocks=blocks)
    widened = Block(last.begin_seconds, min(last.low, value), max(last.high, value))
    return replace(scale, blocks=(*scale.blocks[:-1], widened))


class Outlook(Frozen):
    """How long the training goes on, in seconds; None where it is not known."""

    first_epoch: bool = False
    epoch_seconds_left: float | None = None
    seconds_left: float | None = None


def outlook(training: TrainingSample, beginning: tuple[int, int]) -> Outlook:
    """How long the training goes on: only the first fit of an attempt has an end."""
    first_fit = training.fit == beginning[0]
    first_epoch = (training.fit, training.epoch) == beginning
    if not training.rate or not training.steps_per_epoch:
        return Outlook(first_epoch)
    in_epoch = (training.steps_per_epoch - training.step_in_epoch) / training.rate
    epochs_left = training.epochs - training.epoch - 1
    in_all = in_epoch + epochs_left * training.steps_per_epoch / training.rate
    return Outlook(first_epoch, in_epoch, in_all if first_fit and training.epochs else None)


class Forecast(Frozen):
    per_second: float
    seconds_left: float
    window_seconds: float


def forecast(envelope: Envelope, left: float, outlook: Outlook) -> Forecast | None:
    """When what is left of a resource will be used up; None where nothing says that it will."""
    found = (_at_scale(scale, envelope.highest, left, outlook) for scale in envelope.scales)
    return min(filter(None, found), key=lambda each: each.seconds_left, default=None)


def is_growing(envelope: Envelope) -> bool:
    return any(_steady(scale) is not None for scale in envelope.scales)


def _at_scale(scale: TimeScale, highest: float, left: float, outlook: Outlook) -> Forecast | None:
    line = _steady(scale)
    newest = scale.blocks[-(len(scale.blocks) // 3) :]
    is_high = max((each.high for each in newest), default=0.0) >= _NEW_HIGH_SHARE * highest
    if line is None or not is_high or _growth_to_come(scale) < left:
        return None
    window = scale.blocks[-1].begin_seconds - scale.blocks[0].begin_seconds
    seconds_left = left / line.per_second
    if seconds_left > min(_limits(window, outlook)):
        return None
    return Forecast(per_second=line.per_second, seconds_left=seconds_left, window_seconds=window)


def _steady(scale: TimeScale) -> Trend | None:
    points = scale.lows()
    if len(points) < _FEWEST_BLOCKS or points[-1].value <= points[0].value:
        return None
    line = trend(points)
    return line if line.tau >= _STEADY_TAU and line.low > 0.0 else None


def _growth_to_come(scale: TimeScale) -> float:
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
    yield HORIZON_WINDOWS * window_seconds
    if outlook.seconds_left is not None:
        yield outlook.seconds_left
    if outlook.first_epoch:
        known = outlook.epoch_seconds_left
        yield window_seconds if known is None else known


@dataclass
class ExhaustionMonitor:
    """What was seen of each resource so far; `present` has those that still grow."""

    present: dict[tuple[str, str], ExhaustionForecast] = field(default_factory=dict)
    _envelopes: dict[tuple[str, str], Envelope] = field(default_factory=dict)
    _told: set[tuple[str, str]] = field(default_factory=set)
    _beginning: tuple[int, int] | None = None
    _first_epoch: bool = True
    _judge_at: float = 0.0

    def see(self, sample: Sample) -> list[ExhaustionForecast]:
        training = sample.training
        if training is None or training.phase in _NOT_TRAINING:
            return []
        self._beginning = self._beginning or (training.fit, training.epoch)
        ahead = outlook(training, self._beginning)
        if self._first_epoch and not ahead.first_epoch:
            self._first_epoch = False
            # A growth of it may have ended with it; how high things were stays known.
            self._envelopes = {
                key: Envelope(highest=each.highest) for key, each in self._envelopes.items()
            }
        found = list(resources(sample))
        self._learn(sample, found)
        if sample.clock_seconds < self._judge_at:
            return []
        self._judge_at = sample.clock_seconds + _JUDGE_SECONDS
        return self._judge(sample, found, ahead)

    def _learn(self, sample: Sample, found: list[Resource]) -> None:
        values = {each.key: each.used for each in found}
        if sample.training and sample.training.python_blocks is not None:
            values[_PYTHON_KEY] = sample.training.python_blocks
        for key, value in values.items():
            before = self._envelopes.get(key, Envelope())
            self._envelopes[key] = extended(before, sample.clock_seconds, value)

    def _judge(
        self, sample: Sample, found: list[Resource], ahead: Outlook
    ) -> list[ExhaustionForecast]:
        self.present = {
            each.key: self._event(each, seen, sample)
            for each in found
            if (seen := forecast(self._envelopes[each.key], each.left, ahead))
        }
        new = [key for key in self.present if key not in self._told]
        self._told.update(new)
        return [self.present[key] for key in new]

    def _event(self, resource: Resource, seen: Forecast, sample: Sample) -> ExhaustionForecast:
        blocks = self._envelopes.get(_PYTHON_KEY, Envelope())
        is_python = resource.name == "memory" and is_growing(blocks)
        return ExhaustionForecast(
            resource=resource.name,
            place=resource.place,
            used=resource.used,
            left=resource.left,
            step=sample.training.step if sample.training else 0,
            growing=PYTHON if is_python else "",
            **vars(seen),
        )
