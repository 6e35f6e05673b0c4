"""Iterators of the standard library that tell where they stand, and can be brought there.

Where one stands is a number, or a few: it is compared, saved, and reached again by an
iterator that the script has made anew.
"""

from __future__ import annotations

import ast
import itertools
import warnings
from collections import deque
from typing import Any

_INDEXED: tuple[type, ...] = (
    type(iter([])),
    type(iter(())),
    type(iter("a")),
    type(iter("\u00e4")),
    type(iter(range(0))),
)
KINDS: tuple[type, ...] = (*_INDEXED, itertools.count, itertools.cycle)
_LONGEST = 10_000_000
_ENDED = -1

Position = tuple[Any, ...]


def position_of(iterator: Any) -> Position | None:
    """Where it stands; None for what is no such iterator."""
    kind = type(iterator)
    if kind is itertools.count:
        return _numbers(repr(iterator))
    if kind is itertools.cycle:
        return _turn_of(iterator)
    return (_index_of(iterator),) if kind in _INDEXED else None


def _numbers(text: str) -> Position | None:
    try:
        value = ast.literal_eval(text.removeprefix("count"))
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, tuple) else (value, 1)


def _turn_of(cycle: Any) -> Position | None:
    """Whether the first round is over, and the place in the round."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        _, (inner,), (seen, is_over) = cycle.__reduce__()
    if type(inner) not in _INDEXED:
        return None
    return (True, _index_of(inner)) if is_over else (False, len(seen))


def _index_of(iterator: Any) -> int:
    _, _, *index = iterator.__reduce__()
    return index[0] if index else _ENDED


def move(iterator: Any, wanted: Position) -> bool:
    """Brings an iterator to a position; whether it got there."""
    if type(iterator) in _INDEXED:
        (index,) = wanted
        deque(iterator, maxlen=0) if index == _ENDED else iterator.__setstate__(index)
    elif type(iterator) is itertools.count:
        now, step = position_of(iterator) or wanted
        draws = round((wanted[0] - now) / step) if step else 0
        deque(itertools.islice(iterator, max(0, min(draws, _LONGEST))), maxlen=0)
    else:
        for _ in range(_LONGEST):
            if position_of(iterator) == wanted:
                break
            next(iterator)
    return position_of(iterator) == wanted
