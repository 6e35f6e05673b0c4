"""Puts the watch into Keras 2 (`tf_keras`): its hook points, and its epochs and steps."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.fence import fenced
from pitstop.engine.hooking import Original
from pitstop.keras import left_out, legacy_private, nan_trace, step_memory
from pitstop.keras.fits.continuation import Continuation
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.inputs.input_level import RepeatedShuffles
from pitstop.keras.instrumentation import Hook, Instrumentation, after, observed_callbacks
from pitstop.keras.legacy_source import SHAPES, LegacySource, placeholder, take_place
from pitstop.keras.training import Training
from pitstop.tensorflow.variables.variables import REGISTRY

_Original = Callable[[Any], Iterator[Any]]


def enumerate_epochs(training: Training, original: _Original, handler: Any) -> Iterator[Any]:
    run = training.run
    if run is not None and _feeds(run, handler) and run.callbacks is not None:
        yield from _training_epochs(training, run)
        return
    with fenced(spoils=True):
        RepeatedShuffles(handler._dataset, in_parts=bool(handler._steps_per_epoch)).begin()
    for epoch, iterator in original(handler):
        # A validation's iterator tells how far the seeds of its shuffles have gone.
        handler._pitstop_iterator = iterator
        yield epoch, iterator


def _feeds(run: FitRun, handler: Any) -> bool:
    return getattr(run.epoch_iterator, "handler", None) is handler


def _training_epochs(training: Training, run: FitRun) -> Iterator[Any]:
    source: LegacySource = run.epoch_iterator
    handler, continuation = source.handler, training.continuation
    with handler._truncate_execution_to_epoch():
        if continuation is not None:
            handler._initial_epoch = continuation.position.epoch
        waits = continuation is not None and not run.input.state.anew
        iterator = placeholder() if waits else _fresh_iterator(run)
        for epoch in range(handler._initial_epoch, handler._epochs):
            if handler._insufficient_data:
                break
            is_restored = continuation is not None and epoch == handler._initial_epoch
            if source.data_adapter.is_renewed and not is_restored:
                iterator = _fresh_iterator(run)
                source.infer_steps()
            run.held_iterator = iterator
            yield epoch, iterator
            if handler._insufficient_data:
                training.input_exhausted(source)
            handler._adapter.on_epoch_end()


def _fresh_iterator(run: FitRun) -> Any:
    run.look_for_streams()
    run.input.before_iterator()
    return run.input.create_iterator()


def enumerate_steps(training: Training, original: _Original, handler: Any) -> Iterator[Any]:
    run = training.run
    if run is None or not _feeds(run, handler) or run.callbacks is None:
        yield from training.outside(original(handler))
        return
    continuation = training.take_continuation()
    skips = continuation is not None and continuation.position.stage != "steps"
    if continuation is not None:
        _restore(run, continuation)
        # `steps` takes it for the first step of the next epoch, where this one has none left.
        handler._initial_step = 0 if skips else run.position.step_in_epoch
    elif run.input.state.drawn == 0:
        # A reader of the script's begins with the first step: callbacks may have drawn since.
        run.look_for_streams()
        run.input.before_iterator()
    run.begin_steps()
    step_memory.look(run)
    if not skips:
        for step in original(handler):
            stride = run.epoch_iterator.steps_per_execution
            if not nan_trace.looks_at(run, stride) and not left_out.passes_over(run, stride):
                yield step
            run.step_done()
    run.steps_finished()
    run.hold()


def _restore(run: FitRun, continuation: Continuation) -> None:
    handler = run.epoch_iterator.handler
    stride = int(handler._steps_per_execution.numpy())
    continuation.prepare()
    iterator = continuation.apply()
    if not run.input.state.anew:
        take_place(run.held_iterator, iterator)
    # A cut after the last call of an epoch, which may be a shorter one, has its number.
    handler._steps_per_execution.assign(stride)


TRAINER: type = legacy_private.Model  # the class with `fit` and its like

APPLIES: tuple[tuple[type, str], ...] = tuple(
    (each, "apply_gradients") for each in legacy_private.OPTIMIZERS
)
"""What applies gradients."""

check = legacy_private.check


def install(instrumentation: Instrumentation) -> None:
    """Patches Keras 2; `UnsupportedVersion` where a hook point is missing."""
    check()
    legacy_private.watch_names(REGISTRY.naming)
    legacy_private.watch_seeds()
    instrumentation.lead(TRAINER, legacy_private.traceback_utils, (*_LED, *OBSERVED))


def _sync(training: Training, original: Original, tensors: Any) -> Any:
    if tensors is None:
        # A `fit` that goes on after the last step of an epoch.
        tensors = training.logs_or_restored(tensors) or None
    return original(tensors)


def _slice_inputs(
    training: Training, original: Original, adapter: Any, indices: Any, inputs: Any
) -> Any:
    batches = training.batches_to_skip(adapter)
    return original(adapter, indices.skip(batches) if batches else indices, inputs)


def _standardized(_: Training, original: Original, adapter: Any, data: Any) -> Any:
    batch = original(adapter, data)
    if not hasattr(adapter, SHAPES):
        setattr(adapter, SHAPES, tuple(map(np.shape, tf.nest.flatten(batch))))
    return batch


_LED: tuple[Hook, ...] = (
    (legacy_private.DataHandler, "enumerate_epochs", enumerate_epochs),
    (legacy_private.DataHandler, "steps", enumerate_steps),
    (legacy_private.CallbackList, "on_train_begin", Training.train_begins),
    (legacy_private.PYTHON_ADAPTER, "_standardize_batch", _standardized),
    (legacy_private.tf_utils, "sync_to_numpy_or_python_type", _sync),
    *((each, "slice_inputs", _slice_inputs) for each in legacy_private.ARRAY_ADAPTERS),
)
OBSERVED: tuple[Hook, ...] = (
    (legacy_private.DataHandler, "__init__", after(Training.handler_made)),
    *observed_callbacks(legacy_private.CallbackList),
)
