"""Puts the watch into Keras 2 (`tf_keras`): one thin function per hook point, no logic."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.keras import legacy_private, legacy_steps, stop_training
from pitstop.keras.common_private import hide_own_frames, replace_inner_fit
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
from pitstop.keras.legacy_source import SHAPES
from pitstop.keras.training import Training
from pitstop.tensorflow.variables import REGISTRY

TRAINER: type = legacy_private.Model
"""The class with `fit` and its like."""

APPLIES: tuple[tuple[type, str], ...] = tuple(
    (each, "apply_gradients") for each in legacy_private.OPTIMIZERS
)
"""What applies gradients."""


def check() -> None:
    """See `legacy_private.check`."""
    legacy_private.check()


def install(instrumentation: Instrumentation) -> None:
    """Patches Keras 2.

    Raises:
        UnsupportedVersion: a hook point is missing.
    """
    check()
    legacy_private.watch_names(REGISTRY.naming)
    legacy_private.watch_seeds()
    patch(instrumentation)


def patch(instrumentation: Instrumentation) -> None:
    """Leads Keras 2 through an instrumentation from now on."""
    hide_own_frames(legacy_private.traceback_utils)
    replace_inner_fit(legacy_private.Model, fit_hook(instrumentation))
    legacy_private.replace_sync(_sync(instrumentation))
    for owner, name, wrap in _METHODS:
        setattr(owner, name, wrap(instrumentation)(getattr(owner, name)))
    stop_training.watch(legacy_private.Model, stop_training_hook(instrumentation))
    instrumentation.watch_notices()


_Steps = Callable[[Training, Callable[[Any], Iterator[Any]], Any], Iterator[Any]]


def _led_by(generate: _Steps) -> Callable[[Instrumentation], Wrap]:
    """Puts a generator of ours in the place of one of the data handler's."""

    def of(instrumentation: Instrumentation) -> Wrap:
        def wrap(original: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
            @functools.wraps(original)
            def method(self: Any) -> Iterator[Any]:
                training = instrumentation.training
                return original(self) if training is None else generate(training, original, self)

            return method

        return wrap

    return of


def _sync(instrumentation: Instrumentation) -> Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def sync_to_numpy_or_python_type(tensors: Any) -> Any:
            training = instrumentation.training
            if tensors is None and training is not None:
                # A `fit` that goes on behind the last step of an epoch.
                tensors = training.logs_or_restored(tensors) or None
            return original(tensors)

        return sync_to_numpy_or_python_type

    return wrap


def _slice_inputs(instrumentation: Instrumentation) -> Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def slice_inputs(self: Any, indices_dataset: Any, inputs: Any) -> Any:
            training = instrumentation.training
            batches = 0 if training is None else training.batches_to_skip(self)
            rest = indices_dataset.skip(batches) if batches else indices_dataset
            return original(self, rest, inputs)

        return slice_inputs

    return wrap


def _standardized(_instrumentation: Instrumentation) -> Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def _standardize_batch(self: Any, data: Any) -> Any:
            batch = original(self, data)
            if not hasattr(self, SHAPES):
                setattr(self, SHAPES, tuple(map(np.shape, tf.nest.flatten(batch))))
            return batch

        return _standardize_batch

    return wrap


OBSERVED: tuple[Observed, ...] = (
    (legacy_private.DataHandler, "__init__", after, Training.handler_made),
    *observed_callbacks(legacy_private.CallbackList),
)

_METHODS: tuple[tuple[Any, str, Callable[[Instrumentation], Wrap]], ...] = (
    (legacy_private.DataHandler, "enumerate_epochs", _led_by(legacy_steps.enumerate_epochs)),
    (legacy_private.DataHandler, "steps", _led_by(legacy_steps.enumerate_steps)),
    (legacy_private.CallbackList, "on_train_begin", train_begin_hook),
    (legacy_private.PYTHON_ADAPTER, "_standardize_batch", _standardized),
    *((each, "slice_inputs", _slice_inputs) for each in legacy_private.ARRAY_ADAPTERS),
    *((owner, name, when(observe)) for owner, name, when, observe in OBSERVED),
)
