"""How many values of a tensor are not finite, and where the first one is."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.record import Frozen


class Finiteness(Frozen):
    name: str  # what it is
    bad: str  # "nan" or "inf", the worst that is in it; empty where all is finite
    bad_words: str  # what is no finite number, and where
    range_words: str  # from where to where the others go; empty where there are none


def parts_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
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
    finite = numbers[np.isfinite(numbers)]
    goes = f"{name} ranges from {finite.min():.4g} to {finite.max():.4g}" if finite.size else ""
    if finite.size == numbers.size:
        return Finiteness(name, "", "", goes)
    nans, infinities = int(np.isnan(numbers).sum()), int(np.isinf(numbers).sum())
    kinds = [f"{nans:,} NaN"] if nans else []
    kinds += [f"{infinities:,} infinite"] if infinities else []
    place = ", ".join(map(str, np.argwhere(~np.isfinite(numbers))[0]))
    at = f", the first at [{place}]" if place else ""
    words = f"{' and '.join(kinds)} of {numbers.size:,} values{at}"
    return Finiteness(name, "nan" if nans else "inf", words, goes)
