"""Which ends of epochs are worth keeping for their metrics.  Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pitstop.store.best_rule import parse_best_rule


class BestWatch:
    """Knows the metrics of what is kept, and tells whether new ones are among the best."""

    def __init__(
        self, rules: Iterable[str], known: Iterable[tuple[int, Mapping[str, float]]]
    ) -> None:
        self._rules = [parse_best_rule(rule) for rule in rules]
        self._known = {step: dict(metrics) for step, metrics in known}

    @property
    def active(self) -> bool:
        return bool(self._rules)

    def accepts(self, step: int, metrics: Mapping[str, float]) -> bool:
        """Whether the state after this step is among the best, and is not kept yet."""
        if step in self._known:
            # This epoch's validation was gone through again, behind its own checkpoint.
            return False
        candidates = {**self._known, step: metrics}
        if not any(step in rule.choose(_values(candidates, rule.metric)) for rule in self._rules):
            return False
        self._known[step] = dict(metrics)
        return True


def _values(metrics: Mapping[int, Mapping[str, float]], name: str) -> list[tuple[int, float]]:
    return [(step, values[name]) for step, values in metrics.items() if name in values]
