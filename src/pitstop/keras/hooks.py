"""Puts the watch into Keras 3: one thin function per hook point, no logic.

`install` runs when Keras has been imported.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from pitstop.errors import UnsupportedVersion
from pitstop.keras import private
from pitstop.keras.epoch_steps import enumerate_steps
from pitstop.keras.instrumentation import Hook, Instrumentation, after, observed_callbacks
from pitstop.keras.training import Training
from pitstop.tensorflow.variables import REGISTRY

TRAINER: type = private.TensorFlowTrainer
"""The class with `fit` and its like."""

APPLIES: tuple[tuple[type, str], ...] = ((private.Optimizer, "apply"),)
"""What applies gradients."""

check = private.check


def install(instrumentation: Instrumentation) -> None:
    """Patches Keras, or reports why it cannot be.

    Raises:
        UnsupportedVersion: a hook point is missing.
    """
    if keras.config.backend() != "tensorflow":
        raise UnsupportedVersion(
            f"Keras runs on the {keras.config.backend()} backend; exact resume needs TensorFlow.",
            "Set KERAS_BACKEND=tensorflow, or run on without snapshots.",
        )
    check()
    private.watch_names(REGISTRY.naming)
    patch(instrumentation)


def patch(instrumentation: Instrumentation) -> None:
    """Leads Keras through an instrumentation from now on."""
    private.warn_as_keras()
    instrumentation.lead(TRAINER, private.traceback_utils, (*_LED, *OBSERVED))


def _metrics_or_logs(
    training: Training, original: Callable[..., Any], model: Any, logs: Any
) -> Any:
    return original(model, training.logs_or_restored(logs))


_LED: tuple[Hook, ...] = (
    (private.EpochIterator, "_enumerate_iterator", enumerate_steps),
    (private.EpochIterator, "_interrupted_warning", after(Training.input_exhausted)),
    (private.CallbackList, "on_train_begin", Training.train_begins),
    (TRAINER, "_get_metrics_result_or_logs", _metrics_or_logs),
)
OBSERVED: tuple[Hook, ...] = (
    (private.TFEpochIterator, "__init__", after(Training.iterator_made)),
    *observed_callbacks(private.CallbackList),
)
