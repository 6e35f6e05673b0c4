"""Follows the metrics of a run, and asks for a stop when its condition holds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pitstop.events import EpochEnded, Event, NonFiniteLoss, StopRequested
from pitstop.supervisor.stops import stop_condition

SOURCE = "condition"


class ConditionWatch:
    """One `--stop-when`; it asks once."""

    def __init__(self, text: str, before: Iterable[Event] = ()) -> None:
        """Learns the epochs of earlier attempts; `ValueError` where the text is no condition."""
        self._text = text
        self._holds = stop_condition.parse(text) if text else None
        self._epochs: dict[int, dict[int, Mapping[str, float]]] = {}
        for event in before:
            if isinstance(event, EpochEnded):
                self._learn(event)

    def on_event(self, event: Event) -> StopRequested | None:
        """Whether this event makes the condition true."""
        if self._holds is None:
            return None
        if isinstance(event, EpochEnded):
            epochs = self._learn(event)
        elif isinstance(event, NonFiniteLoss):
            epochs = [{event.metric: float(event.value)}]
        else:
            return None
        if not self._holds(epochs):
            return None
        self._holds = None
        return StopRequested(source=SOURCE, urgency="graceful", reason=self._text)

    def _learn(self, event: EpochEnded) -> list[Mapping[str, float]]:
        """The epochs of this `fit`; one that is trained again counts once."""
        fit = self._epochs.setdefault(event.fit, {})
        fit[event.epoch] = {**event.logs, "epoch": event.epoch + 1.0}
        return [fit[epoch] for epoch in sorted(fit) if epoch <= event.epoch]
