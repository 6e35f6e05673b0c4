"""Puts the watch into Keras 2 (`tf_keras`): one thin function per hook point, no logic."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.keras import legacy_private, legacy_steps
from pitstop.keras.instrumentation import Hook, Instrumentation, after, observed_callbacks
from pitstop.keras.legacy_source import SHAPES
from pitstop.keras.training import Training
from pitstop.tensorflow.variables import REGISTRY

TRAINER: type = legacy_private.Model
"""The class with `fit` and its like."""

APPLIES: tuple[tuple[type, str], ...] = tuple(
    (each, "apply_gradients") for each in legacy_private.OPTIMIZERS
)
"""What applies gradients."""

check = legacy_private.check


def install(instrumentation: Instrumentation) -> None:
    """Patches Keras 2.

    Raises:
        UnsupportedVersion: a hook point is missing.
    """
    check()
    legacy_private.watch_names(REGISTRY.naming)
    legacy_private.watch_seeds()
    instrumentation.lead(TRAINER, legacy_private.traceback_utils, (*_LED, *OBSERVED))


def _sync(training: Training, original: Callable[..., Any], tensors: Any) -> Any:
    if tensors is None:
        # A `fit` that goes on behind the last step of an epoch.
        tensors = training.logs_or_restored(tensors) or None
    return original(tensors)


def _slice_inputs(
    training: Training, original: Callable[..., Any], adapter: Any, indices: Any, inputs: Any
) -> Any:
    batches = training.batches_to_skip(adapter)
    return original(adapter, indices.skip(batches) if batches else indices, inputs)


def _standardized(_: Training, original: Callable[..., Any], adapter: Any, data: Any) -> Any:
    batch = original(adapter, data)
    if not hasattr(adapter, SHAPES):
        setattr(adapter, SHAPES, tuple(map(np.shape, tf.nest.flatten(batch))))
    return batch


_LED: tuple[Hook, ...] = (
    (legacy_private.DataHandler, "enumerate_epochs", legacy_steps.enumerate_epochs),
    (legacy_private.DataHandler, "steps", legacy_steps.enumerate_steps),
    (legacy_private.CallbackList, "on_train_begin", Training.train_begins),
    (legacy_private.PYTHON_ADAPTER, "_standardize_batch", _standardized),
    (legacy_private.tf_utils, "sync_to_numpy_or_python_type", _sync),
    *((each, "slice_inputs", _slice_inputs) for each in legacy_private.ARRAY_ADAPTERS),
)
OBSERVED: tuple[Hook, ...] = (
    (legacy_private.DataHandler, "__init__", after(Training.handler_made)),
    *observed_callbacks(legacy_private.CallbackList),
)
