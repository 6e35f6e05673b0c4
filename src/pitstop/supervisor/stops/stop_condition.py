"""`--stop-when`: a condition on the metrics of the epochs, and who follows them.

    condition  = all {"or" all}
    all        = one {"and" one}
    one        = "(" condition ")" | "not" one | call | name operator number
    call       = "plateau(" name "," epochs ["," change] ")"
               | "diverges(" name "," epochs ")" | "nan(" name ")"
    operator   = "<" | "<=" | ">" | ">=" | "=="

A name is a key of the epoch's logs ("val_loss"), or `epoch`, counted from 1.
"""

import ast
import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from pitstop.events import EpochEnded, Event, NonFiniteLoss, NonFiniteWeights, StopRequested

Epochs = Sequence[Mapping[str, float]]  # the logs of each epoch so far, the newest last

Condition = Callable[[Epochs], bool]

_METRIC = re.compile(r"(?<![\w.])(?!(?:and|or|not)(?![\w/.]))[A-Za-z_][\w/.]*+(?!\s*\()")
_COMPARE: Mapping[type[ast.cmpop], Callable[[float, float], bool]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
}
# As Keras' "auto" mode has it.
_LARGER_IS_BETTER = re.compile(r"acc$|accuracy$|auc$")
SOURCE = "condition"
NAN_SOURCE = "nan"


def parse(text: str) -> Condition:
    """The condition of a text, which is parsed as Python and not evaluated; or a `ValueError`."""
    # Names of metrics ("map/0.50", "loss/class") need not be names of Python: they become texts.
    quoted = _METRIC.sub(lambda name: repr(name[0]), text.strip())
    try:
        return _condition(ast.parse(quoted, mode="eval").body)
    except SyntaxError as problem:
        place = len(quoted[: (problem.offset or 1) - 1].replace("'", "")) + 1
        raise ValueError(f"{text!r}: {problem.msg} (character {place})") from None
    except (ValueError, OverflowError, RecursionError, MemoryError) as problem:
        raise ValueError(f"{text!r}: {problem}") from None


def _condition(node: ast.expr) -> Condition:
    match node:
        case ast.BoolOp(op, values):
            parts, combine = list(map(_condition, values)), all if type(op) is ast.And else any
            return lambda epochs: combine(part(epochs) for part in parts)
        case ast.UnaryOp(ast.Not(), operand):
            negated = _condition(operand)
            return lambda epochs: not negated(epochs)
        case ast.Compare(left, [sign], [right]) if type(sign) in _COMPARE:
            name, compare, limit = _metric(left), _COMPARE[type(sign)], _number(right)
            return lambda epochs: name in epochs[-1] and compare(epochs[-1][name], limit)
        case ast.Call(ast.Name(function), [metric, *numbers], []):
            return _call(function, _metric(metric), list(map(_number, numbers)))
    raise ValueError(f"{_words(node)} is not a condition such as val_loss < 0.02")


def _call(function: str, name: str, numbers: Sequence[float]) -> Condition:
    if function not in _FUNCTIONS:
        raise ValueError(f"there is no {function}(); use {', '.join(sorted(_FUNCTIONS))}")
    fewest, most, make, usage = _FUNCTIONS[function]
    is_count = not numbers or (numbers[0] >= 1 and numbers[0] == int(numbers[0]))
    if not (fewest <= len(numbers) <= most and is_count):
        raise ValueError(f"write {usage}")
    return make(name, numbers)


def _metric(node: ast.expr) -> str:
    if not isinstance(node, ast.Constant) or not _METRIC.fullmatch(str(node.value)):
        raise ValueError(f"{_words(node)} is not the name of a metric")
    return str(node.value)


def _number(node: ast.expr) -> float:
    try:
        return float(ast.literal_eval(node))
    except (TypeError, ValueError):
        raise ValueError(f"{_words(node)} is not a number") from None


def _words(node: ast.expr) -> str:
    return ast.unparse(node).replace("'", "")


def _plateau(name: str, numbers: Sequence[float]) -> Condition:
    count, change = int(numbers[0]), numbers[1] if len(numbers) > 1 else 0.0

    def holds(epochs: Epochs) -> bool:
        values = _losses(name, epochs)
        if len(values) <= count:
            return False
        return min(values[-count:]) >= min(values[:-count]) - change

    return holds


def _diverges(name: str, numbers: Sequence[float]) -> Condition:
    count = int(numbers[0])

    def holds(epochs: Epochs) -> bool:
        last = _losses(name, epochs)[-count - 1 :]
        return len(last) > count and all(a < b for a, b in pairwise(last))

    return holds


def _nan(name: str, _: Sequence[float]) -> Condition:
    return lambda epochs: not math.isfinite(epochs[-1].get(name, 0.0))


def _losses(name: str, epochs: Epochs) -> list[float]:
    """The metric of each epoch that has it, turned so that smaller is better."""
    sign = -1.0 if _LARGER_IS_BETTER.search(name) else 1.0
    return [sign * each[name] for each in epochs if name in each]


_Make = Callable[[str, Sequence[float]], Condition]
_FUNCTIONS: Mapping[str, tuple[int, int, _Make, str]] = {
    "plateau": (1, 2, _plateau, "plateau(val_loss, 5) or plateau(val_loss, 5, 0.001)"),
    "diverges": (1, 1, _diverges, "diverges(loss, 3)"),
    "nan": (0, 0, _nan, "nan(loss)"),
}
"""The fewest and the most numbers after the metric, what is made of them, and how it is written."""


class ConditionWatch:
    """One `--stop-when`, `--on-nan rollback`, and requests to stop at the end of an epoch."""

    def __init__(
        self, text: str, before: Iterable[Event] = (), *, rolls_back: bool = False
    ) -> None:
        """Learns the epochs of earlier attempts; `ValueError` where the text is no condition."""
        self._text = text
        self._rolls_back = rolls_back
        self._holds = parse(text) if text else None
        self._epochs: dict[int, dict[int, Mapping[str, float]]] = {}
        self._after_epoch: StopRequested | None = None
        for event in before:
            if isinstance(event, EpochEnded):
                self._learn(event)

    def await_epoch(self, asked: StopRequested) -> None:
        self._after_epoch = asked

    def on_event(self, event: Event) -> StopRequested | None:
        if isinstance(event, EpochEnded) and self._after_epoch is not None:
            asked, self._after_epoch = self._after_epoch, None
            return asked
        if self._rolls_back and isinstance(event, NonFiniteLoss | NonFiniteWeights):
            self._rolls_back = False
            return StopRequested(source=NAN_SOURCE, urgency="graceful")
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
