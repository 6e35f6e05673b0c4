"""Follows the samples of a run and tells, once each, what is going to run out."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.events import ExhaustionForecast
from pitstop.flight import forecast
from pitstop.flight.forecast import Envelope, Forecast, Outlook, extended
from pitstop.flight.resources import Resource, resources
from pitstop.flight.sample import Sample, TrainingSample

_JUDGE_SECONDS = 5.0
_NOT_TRAINING = frozenset({"starting", "restoring", "first_step", "ended"})
"""Before the first step is over, buffers fill and code is compiled."""

PYTHON = "python"
"""What grows, where the memory blocks of Python's objects do."""
_PYTHON_KEY = (PYTHON, "")


def outlook(training: TrainingSample, beginning: tuple[int, int]) -> Outlook:
    """How long the training goes on, whose attempt began in this fit and epoch.

    Another `fit` may follow the last one there was, so only the first has an end.
    """
    first_fit = training.fit == beginning[0]
    first_epoch = (training.fit, training.epoch) == beginning
    if not training.rate or not training.steps_per_epoch:
        return Outlook(first_epoch)
    in_epoch = (training.steps_per_epoch - training.step_in_epoch) / training.rate
    epochs_left = training.epochs - training.epoch - 1
    in_all = in_epoch + epochs_left * training.steps_per_epoch / training.rate
    return Outlook(first_epoch, in_epoch, in_all if first_fit and training.epochs else None)


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
        """Learns from a sample; what is to be told now, nothing mostly."""
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
        judged = [
            (each, forecast.forecast(self._envelopes[each.key], each.left, ahead)) for each in found
        ]
        self.present = {
            each.key: self._event(each, seen, sample) for each, seen in judged if seen is not None
        }
        new = [key for key in self.present if key not in self._told]
        self._told.update(new)
        return [self.present[key] for key in new]

    def _event(self, resource: Resource, seen: Forecast, sample: Sample) -> ExhaustionForecast:
        blocks = self._envelopes.get(_PYTHON_KEY, Envelope())
        is_python = resource.name == "memory" and forecast.is_growing(blocks)
        return ExhaustionForecast(
            resource=resource.name,
            place=resource.place,
            used=resource.used,
            left=resource.left,
            step=sample.training.step if sample.training else 0,
            growing=PYTHON if is_python else "",
            **vars(seen),
        )
