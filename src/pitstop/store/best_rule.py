"""Which values of a metric are the best so far.  Imported inside the trainer."""

import math
from collections.abc import Iterable

from pitstop.record import Frozen

MODES = ("min", "max")
_SMALLER_IS_BETTER = "loss error crossentropy divergence hinge poisson mae mse mape msle rmse"
_LARGER_IS_BETTER = "acc accuracy auc precision recall score similarity correlation iou"


class BestRule(Frozen):
    """Keep the `count` best checkpoints by a metric, `val_loss`; "min": smaller is better."""

    metric: str
    count: int
    mode: str

    def __str__(self) -> str:
        return f"{self.metric}:{self.count}:{self.mode}"

    def choose(self, values: Iterable[tuple[int, float]]) -> frozenset[int]:
        """Keys of the best values; of equal ones the smaller, earlier key, NaN never."""
        sign = 1 if self.mode == "min" else -1
        ranked = sorted((sign * value, key) for key, value in values if not math.isnan(value))
        return frozenset(key for _, key in ranked[: self.count])


def parse_best_rule(text: str) -> BestRule:
    """`val_loss`, `val_loss:3`, `val_accuracy:max:2`, in any order; or `ValueError`."""
    metric, *words = (word.strip() for word in text.split(":"))
    modes = [word for word in words if word in MODES]
    counts = [int(word) for word in words if word.isdecimal() and int(word)]
    if not metric or len(modes) + len(counts) != len(words) or max(len(modes), len(counts)) > 1:
        raise ValueError(f"{text!r} is not a valid rule; examples: val_loss:3, auc:max:2")
    mode = modes[0] if modes else infer_mode(metric)
    if not mode:
        raise ValueError(f"write {metric}:max if a larger {metric} is better, or {metric}:min")
    return BestRule(metric, counts[0] if counts else 1, mode)


def infer_mode(metric: str) -> str:
    """What is better, from the words of a metric's name; empty when they do not tell."""
    words = set(metric.lower().split("_"))
    smaller = not words.isdisjoint(_SMALLER_IS_BETTER.split())
    larger = not words.isdisjoint(_LARGER_IS_BETTER.split())
    if smaller == larger:
        return ""
    return "min" if smaller else "max"
