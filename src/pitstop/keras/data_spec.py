"""What is known of the training input, to notice that it changed."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.tensorflow import pipeline

_SAMPLED_ROWS = 64


def describe(adapter: Any, dataset: Any, steps_per_epoch: int | None) -> dict[str, Any]:
    """Adapter, batch size, length, element types, stages, and a digest of sampled rows.

    The digest covers up to 64 rows spread evenly over each array; it notices
    another data set or another order, not every changed value.
    """
    spec: dict[str, Any] = {
        "adapter": type(adapter).__name__,
        "batch_size": _number(adapter, "batch_size"),
        "batches": _number(adapter, "num_batches"),
        "steps_per_epoch": steps_per_epoch,
        "elements": str(getattr(dataset, "element_spec", "")),
    }
    if spec["adapter"] == "TFDatasetAdapter":
        spec["pipeline"] = pipeline.pipeline_of(dataset)
    inputs = getattr(adapter, "_inputs", None)
    if inputs is not None:
        spec["samples"] = int(getattr(adapter, "_num_samples", 0))
        spec["digest"] = _digest(inputs)
    return spec


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str]]:
    """What differs between two descriptions: name, before, now."""
    names = [name for name in {**before, **now} if before.get(name) != now.get(name)]
    return [(name, str(before.get(name)), str(now.get(name))) for name in names]


def _number(adapter: Any, name: str) -> int | None:
    # Adapters work these out from the first element, which may have no shape.
    try:
        value = getattr(adapter, name, None)
    except (IndexError, TypeError, ValueError):
        return None
    return None if value is None else int(value)


def _digest(inputs: Any) -> str:
    digest = hashlib.blake2b(digest_size=8)
    for array in tf.nest.flatten(inputs):
        if isinstance(array, np.ndarray | tf.Tensor) and array.shape[0]:
            rows = np.linspace(0, array.shape[0] - 1, _SAMPLED_ROWS).astype(np.int64)
            sample = array[rows] if isinstance(array, np.ndarray) else tf.gather(array, rows)
            digest.update(np.ascontiguousarray(sample).tobytes())
    return digest.hexdigest()
