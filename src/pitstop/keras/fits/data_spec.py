"""What is known of the training input, to notice that it changed."""

import hashlib
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.script_state import fingerprint
from pitstop.keras.inputs import input_state
from pitstop.tensorflow.pipelines import pipeline

_WHOLE_ROWS = 64


def describe(
    adapter: Any, dataset: Any, steps_per_epoch: int | None, validation: Any = None
) -> dict[str, Any]:
    """Adapter, batch size, length, element types, stages, and digests of the values.

    A digest covers the first rows of each array, and values spread evenly over the rest; of a
    `tf.data` pipeline the tensors that it is made of. Nothing is drawn.
    """
    spec: dict[str, Any] = {
        "adapter": input_state.name_of(adapter),
        "batch_size": _number(adapter, "batch_size"),
        "batches": _number(adapter, "num_batches"),
        "steps_per_epoch": steps_per_epoch,
        "elements": str(getattr(dataset, "element_spec", "")),
    }
    if input_state.kind_of(adapter) == "dataset":
        spec["pipeline"] = pipeline.pipeline_of(dataset)
        spec["digest"] = _digest(pipeline.source_tensors(dataset))
    kept = [each for each in (dataset, validation) if pipeline.keeps_an_order(each)]
    if kept:
        spec["orders"] = str(list(map(pipeline.seeds_of, kept)))
    if validation is not None:
        if isinstance(validation, tf.data.Dataset):
            validation = pipeline.source_tensors(validation)
        is_held = isinstance(validation, tuple | list | dict)
        spec["validation_digest"] = _digest(validation if is_held else ())
    if input_state.skips_rows(adapter):
        spec["digest"] = _digest(pipeline.source_tensors(dataset))
    inputs = getattr(adapter, "_inputs", None)
    if inputs is not None:
        spec["samples"] = int(getattr(adapter, "_num_samples", 0))
        spec["digest"] = _digest(inputs)
    return spec


def differences(before: dict[str, Any], now: dict[str, Any]) -> list[tuple[str, str, str]]:
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
    for value in tf.nest.flatten(inputs):
        if isinstance(value, np.ndarray | tf.Tensor) and value.shape.__len__() > 0:
            array = np.asarray(value)
            rows = array[:_WHOLE_ROWS]
            digest.update(repr(rows.tolist()).encode() if rows.dtype.hasobject else rows.tobytes())
            digest.update(fingerprint.of_array(array).encode())
    return digest.hexdigest()
