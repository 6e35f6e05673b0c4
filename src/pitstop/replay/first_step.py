"""The first step of a loop: by what it leaves behind, a training is known again.

It is computed by every attempt, in a state that nothing has been answered into yet.  So the same
script leaves the same bits behind; another learning rate, model, seed or trial does not.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Any

import numpy as np

from pitstop.tensorflow import private

_VALUES_EACH = 16
_CLOSE = 1e-3
_MOST_OTHER = 0.1

FirstStep = dict[str, np.ndarray[Any, Any]]


class Likeness(enum.Enum):
    """How two first steps are alike."""

    SAME = enum.auto()
    CLOSE = enum.auto()
    OTHER = enum.auto()


def look(variables: Iterable[Any]) -> FirstStep:
    """A few values of each variable; `exact` marks those that rounding does not change."""
    values, exact = [np.empty(0)], [np.empty(0, bool)]
    for variable in variables:
        if private.is_eager_variable(variable) and variable.dtype.is_numpy_compatible:
            array = np.asarray(private.as_numpy(private.hold_value(variable)))
            if array.dtype.kind in "fiub":
                stride = max(1, array.size // _VALUES_EACH)
                some = array.reshape(-1)[::stride].astype("float64")
                values.append(some)
                exact.append(np.full(some.size, array.dtype.kind != "f" or array.size == 1))
    return {"values": np.concatenate(values), "exact": np.concatenate(exact)}


def compare(one: FirstStep, other: FirstStep) -> Likeness:
    """Whether they are of one training: on another machine the last bits may differ."""
    if not np.array_equal(one["exact"], other["exact"]):
        return Likeness.OTHER
    mine, its, exact = one["values"], other["values"], one["exact"]
    if np.array_equal(mine, its, equal_nan=True):
        return Likeness.SAME
    near = np.isclose(mine, its, rtol=_CLOSE, atol=1e-9, equal_nan=True)
    alike = bool(near[exact].all()) and (~near).mean() <= _MOST_OTHER
    return Likeness.CLOSE if alike else Likeness.OTHER
