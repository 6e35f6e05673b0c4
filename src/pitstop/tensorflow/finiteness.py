"""How many values of a tensor are no finite numbers, and where the first one is."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf


@dataclass(frozen=True)
class Finiteness:
    """A tensor, looked at.

    Attributes:
        name: what it is.
        count: its values.
        nans, infinities: how many of them are NaN, or infinite.
        first: the place of the first bad one, by dimension; None without one.
        least, greatest: of the finite ones; None where there are none.
    """

    name: str
    count: int
    nans: int
    infinities: int
    first: tuple[int, ...] | None
    least: float | None
    greatest: float | None

    @property
    def bad(self) -> int:
        """How many values are no finite numbers."""
        return self.nans + self.infinities

    @property
    def bad_words(self) -> str:
        """What is bad, and where; empty where nothing is."""
        if not self.bad:
            return ""
        kinds = [f"{self.nans:,} NaN"] if self.nans else []
        kinds += [f"{self.infinities:,} infinite"] if self.infinities else []
        place = ", ".join(map(str, self.first or ()))
        at = f", the first at [{place}]" if place else ""
        return f"{' and '.join(kinds)} of {self.count:,} values{at}"

    @property
    def range_words(self) -> str:
        """From where to where it goes; empty where nothing is finite."""
        if self.least is None or self.greatest is None:
            return ""
        return f"{self.name} goes from {self.least:.4g} to {self.greatest:.4g}"


def parts_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """The tensors of a nested structure, each with its place in it; None is none."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from parts_of(part, f"{path}[{key!r}]")
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from parts_of(part, f"{path}[{index}]")
    elif value is not None:
        yield path, value


def look(name: str, value: Any) -> Finiteness | None:
    """Looks at a tensor or an array; None for what holds no numbers, or none yet."""
    if isinstance(value, tf.IndexedSlices | tf.SparseTensor):
        value = value.values
    if isinstance(value, tf.RaggedTensor):
        value = value.flat_values
    if tf.is_symbolic_tensor(value):
        return None
    array = np.asarray(value)
    if array.dtype.kind not in "fiu" and array.dtype.name != "bfloat16":
        return None
    numbers = array.astype(np.float64)
    finite = np.isfinite(numbers)
    bad = np.argwhere(~finite)
    return Finiteness(
        name=name,
        count=numbers.size,
        nans=int(np.isnan(numbers).sum()),
        infinities=int(np.isinf(numbers).sum()),
        first=tuple(int(index) for index in bad[0]) if len(bad) else None,
        least=float(numbers[finite].min()) if finite.any() else None,
        greatest=float(numbers[finite].max()) if finite.any() else None,
    )
