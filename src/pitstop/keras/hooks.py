"""Puts the watch into Keras 3: one thin function per hook point, no logic.

`install` runs when Keras has been imported.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import keras

from pitstop.errors import UnsupportedVersion
from pitstop.keras import private, stop_training
from pitstop.keras.common_private import hide_own_frames, replace_inner_fit
from pitstop.keras.epoch_steps import enumerate_steps
from pitstop.keras.instrumentation import (
    Instrumentation,
    Observed,
    Wrap,
    after,
    fit_hook,
    observed_callbacks,
    stop_training_hook,
    train_begin_hook,
)
from pitstop.keras.training import Training
from pitstop.tensorflow.variables import REGISTRY

TRAINER: type = private.TensorFlowTrainer
"""The class with `fit` and its like."""

APPLIES: tuple[tuple[type, str], ...] = ((private.Optimizer, "apply"),)
"""What applies gradients."""


def check() -> None:
    """See `private.check`."""
    private.check()


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
    hide_own_frames(private.traceback_utils)
    replace_inner_fit(private.TensorFlowTrainer, fit_hook(instrumentation))
    for owner, name, wrap in _METHODS:
        private.replace_method(owner, name, wrap(instrumentation))
    stop_training.watch(private.Trainer, stop_training_hook(instrumentation))
    instrumentation.watch_notices()


def _enumerate(instrumentation: Instrumentation) -> Wrap:
    def wrap(original: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
        def _enumerate_iterator(self: Any) -> Iterator[Any]:
            training = instrumentation.training
            if training is None:
                return original(self)
            return enumerate_steps(training, original, self)

        return _enumerate_iterator

    return wrap


def _exhausted(instrumentation: Instrumentation) -> Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def _interrupted_warning(self: Any) -> None:
            private.warn_as_keras(lambda: original(self))
            if instrumentation.training is not None:
                instrumentation.training.input_exhausted(self)

        return _interrupted_warning

    return wrap


def _metrics_or_logs(instrumentation: Instrumentation) -> Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def _get_metrics_result_or_logs(self: Any, logs: Any) -> Any:
            training = instrumentation.training
            return original(self, logs if training is None else training.logs_or_restored(logs))

        return _get_metrics_result_or_logs

    return wrap


OBSERVED: tuple[Observed, ...] = (
    (private.TFEpochIterator, "__init__", after, Training.iterator_made),
    *observed_callbacks(private.CallbackList),
)

_METHODS: tuple[tuple[type, str, Callable[[Instrumentation], Wrap]], ...] = (
    (private.EpochIterator, "_enumerate_iterator", _enumerate),
    (private.EpochIterator, "_interrupted_warning", _exhausted),
    (private.CallbackList, "on_train_begin", train_begin_hook),
    (private.TensorFlowTrainer, "_get_metrics_result_or_logs", _metrics_or_logs),
    *((owner, name, when(observe)) for owner, name, when, observe in OBSERVED),
)
