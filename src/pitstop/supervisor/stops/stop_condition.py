"""`--stop-when`: a condition on the metrics of the epochs, and who follows them.

    condition  = all {"or" all}
    all        = one {"and" one}
    one        = "(" condition ")" | "not" one | call | name operator number
    call       = "plateau(" name "," epochs ["," change] ")"
               | "diverges(" name "," epochs ")" | "nan(" name ")"
    operator   = "<" | "<=" | ">" | ">=" | "=="

A name is a key of the epoch's logs ("val_loss"), or `epoch`, counted from 1.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from pitstop.events import EpochEnded, Event, NonFiniteLoss, NonFiniteWeights, StopRequested

Epochs = Sequence[Mapping[str, float]]
"""The logs of each epoch so far, the newest last."""

Condition = Callable[[Epochs], bool]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)"
    r"|(?P<name>[A-Za-z_][\w/.]*)|(?P<sign><=|>=|==|<|>|\(|\)|,))",
    re.IGNORECASE,
)
_COMPARE: Mapping[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
_WORDS = frozenset({"and", "or", "not"})
# As Keras' "auto" mode has it.
_LARGER_IS_BETTER = re.compile(r"acc$|accuracy$|auc$")
SOURCE = "condition"
NAN_SOURCE = "nan"


def parse(text: str) -> Condition:
    """The condition that a text means; else a `ValueError` that says where it goes wrong."""
    parser = _Parser(text)
    condition = parser.condition()
    parser.end()
    return condition


class _Parser:
    """Recursive descent over the grammar of this module."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = list(_tokens(text))
        self._next = 0

    def condition(self) -> Condition:
        found = self._all()
        while self._takes("or"):
            found = _either(found, self._all())
        return found

    def end(self) -> None:
        if self._peek():
            raise self._wrong("the end")

    def _all(self) -> Condition:
        found = self._one()
        while self._takes("and"):
            found = _both(found, self._one())
        return found

    def _one(self) -> Condition:
        if self._takes("("):
            found = self.condition()
            self._must("(", ")")
            return found
        if self._takes("not"):
            negated = self._one()
            return lambda epochs: not negated(epochs)
        name = self._name()
        return self._call(name) if self._takes("(") else self._comparison(name)

    def _comparison(self, name: str) -> Condition:
        sign = self._peek()
        if sign not in _COMPARE:
            raise self._wrong("<, <=, >, >=, == or (")
        self._next += 1
        compare, limit = _COMPARE[sign], self._number()
        return lambda epochs: name in epochs[-1] and compare(epochs[-1][name], limit)

    def _call(self, function: str) -> Condition:
        if function not in _FUNCTIONS:
            known = ", ".join(sorted(_FUNCTIONS))
            raise ValueError(f"{self._text!r}: there is no {function}(); there are {known}")
        name = self._name()
        numbers = []
        while self._takes(","):
            numbers.append(self._number())
        self._must(function, ")")
        fewest, most, make = _FUNCTIONS[function]
        if not fewest <= len(numbers) <= most or (numbers and not _is_count(numbers[0])):
            raise ValueError(f"{self._text!r}: write {_USAGE[function]}")
        return make(name, numbers)

    def _name(self) -> str:
        word = self._peek()
        if not word or not (word[0].isalpha() or word[0] == "_") or word in _WORDS:
            raise self._wrong("a metric")
        self._next += 1
        return word

    def _number(self) -> float:
        try:
            number = float(self._peek())
        except ValueError:
            raise self._wrong("a number") from None
        self._next += 1
        return number

    def _takes(self, word: str) -> bool:
        taken = self._peek() == word
        self._next += int(taken)
        return taken

    def _must(self, opened: str, word: str) -> None:
        if not self._takes(word):
            raise self._wrong(f"{word!r} after {opened!r}")

    def _peek(self) -> str:
        return self._tokens[self._next] if self._next < len(self._tokens) else ""

    def _wrong(self, expected: str) -> ValueError:
        found = repr(self._peek()) if self._peek() else "nothing"
        return ValueError(f"{self._text!r}: {expected} expected, {found} found")


def _tokens(text: str) -> list[str]:
    found, at = [], 0
    while text[at:].strip():
        match = _TOKEN.match(text, at)
        if match is None:
            raise ValueError(f"{text!r}: {text[at:].strip()[0]!r} means nothing here")
        found.append(match[0].strip())
        at = match.end()
    return found


def _either(a: Condition, b: Condition) -> Condition:
    return lambda epochs: a(epochs) or b(epochs)


def _both(a: Condition, b: Condition) -> Condition:
    return lambda epochs: a(epochs) and b(epochs)


def _is_count(number: float) -> bool:
    return number >= 1 and number == int(number)


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
_FUNCTIONS: Mapping[str, tuple[int, int, _Make]] = {
    "plateau": (1, 2, _plateau),
    "diverges": (1, 1, _diverges),
    "nan": (0, 0, _nan),
}
_USAGE = {
    "plateau": "plateau(val_loss, 5) or plateau(val_loss, 5, 0.001)",
    "diverges": "diverges(loss, 3)",
    "nan": "nan(loss)",
}


class ConditionWatch:
    """One `--stop-when`, `--on-nan rollback`, and whoever waits for the end of an epoch."""

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
        """Has this stop asked for when the epoch under way has ended."""
        self._after_epoch = asked

    def on_event(self, event: Event) -> StopRequested | None:
        """The stop that this event is the reason for."""
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
