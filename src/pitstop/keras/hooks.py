"""Puts the watch into Keras 3: its hook points, and a boundary at each step of an epoch."""

import os
from collections.abc import Callable, Iterator
from typing import Any

import keras

from pitstop.engine.fence import fenced
from pitstop.errors import UnsupportedVersion
from pitstop.keras import guarded_sequences, left_out, nan_trace, private, step_memory
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.fits.short_fits import ShortFit
from pitstop.keras.inputs import bad_records
from pitstop.keras.inputs.input_level import RepeatedShuffles
from pitstop.keras.instrumentation import Hook, Instrumentation, after, observed_callbacks
from pitstop.keras.training import Training
from pitstop.link.settings import ENV_SMALL_BUFFERS
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.variables.variables import REGISTRY


def enumerate_steps(
    training: Training, original: Callable[[Any], Iterator[Any]], epoch_iterator: Any
) -> Iterator[Any]:
    """What `EpochIterator._enumerate_iterator` yields, with a boundary at each step."""
    run = training.run
    if run is not None and epoch_iterator is run.epoch_iterator and run.callbacks is not None:
        if isinstance(run, ShortFit):
            yield from _short_steps(run, epoch_iterator)
        else:
            yield from _training_steps(training, run, epoch_iterator)
        return
    if epoch_iterator._current_iterator is None:
        with fenced(spoils=True):
            dataset = pipeline.of_one_device(epoch_iterator._distributed_dataset)
            RepeatedShuffles(dataset, in_parts=bool(epoch_iterator.steps_per_epoch)).begin()
    items = original(epoch_iterator)
    if run is not None and private.validates_with(run.model, epoch_iterator):
        guarded_sequences.guard(run.validation.bad_records, epoch_iterator.data_adapter)
        items = run.validation.bad_records.readable(run, items, epoch_iterator.steps_per_execution)
    yield from training.outside(items)


def _training_steps(training: Training, run: FitRun, source: Any) -> Iterator[Any]:
    continuation = training.take_continuation()
    fresh = not source.steps_per_epoch or source._current_iterator is None
    if continuation is not None:
        continuation.prepare()
    elif fresh or not run.input.state.drawn:
        # One that was made at the end of the epoch before is read from now on.
        run.look_for_streams()
        run.input.before_iterator()
    source.data_adapter.on_epoch_begin()
    if continuation is not None:
        iterator = continuation.apply()
    else:
        iterator = _fresh_iterator(run, source) if fresh else source._current_iterator
    total = source.steps_per_epoch or source._num_batches or -1
    if total > 0:
        source._current_iterator = iterator
    run.begin_steps()
    step_memory.look(run)
    if continuation is None or continuation.position.stage == "steps":
        yield from _steps(run, source, iterator, total)
    run.steps_finished()
    if total > 0 and source._num_batches and source._steps_seen >= source._num_batches:
        run.input.before_unread()
        source._current_iterator = _fresh_iterator(run, source)
    source.data_adapter.on_epoch_end()
    run.hold()


def _short_steps(run: FitRun, source: Any) -> Iterator[Any]:
    """Of an epoch over arrays; without the unused iterator that Keras makes at its end."""
    source.data_adapter.on_epoch_begin()
    source._current_iterator, source._steps_seen = iter(source._get_iterator()), 0
    run.begin_steps()
    stride = source.steps_per_execution
    for step in range(0, source.num_batches, stride):
        source._steps_seen += stride
        yield private.step_item(step, step + stride - 1, source._current_iterator)
        run.step_done()
    run.steps_finished()
    source.data_adapter.on_epoch_end()


def _iterator_made(training: Training, source: Any, *_: Any, **__: Any) -> None:
    training.iterator_made(source)
    run = training.run
    if run is not None and source is run.epoch_iterator and not isinstance(run, ShortFit):
        guarded_sequences.guard(run.input.bad_records, source.data_adapter)
        if run.input.bad_records.is_refused:
            training.session.report(bad_records.NOT_SKIPPED)


def _fresh_iterator(run: FitRun, source: Any) -> Any:
    source._steps_seen = 0
    return run.input.create_iterator()


def _steps(run: FitRun, source: Any, iterator: Any, total: int) -> Iterator[Any]:
    stride = source.steps_per_execution
    step = run.position.step_in_epoch
    while total < 0 or step < total:
        if total > 0 and source._num_batches and source._steps_seen >= source._num_batches:
            if source.steps_per_epoch:
                source._interrupted_warning()
            return
        source._steps_seen = source._steps_seen + stride if total > 0 else step + stride
        if not nan_trace.looks_at(run, stride) and not left_out.passes_over(run, stride):
            steps = run.position.next_steps(stride)
            read = run.input.bad_records.next_call(run, iterator, steps)
            if read is not None:
                yield private.step_item(step, step + stride - 1, read)
            else:
                run.numbers.forget()
        run.step_done()
        step += stride


TRAINER: type = private.TensorFlowTrainer  # the class with `fit` and its like

APPLIES: tuple[tuple[type, str], ...] = ((private.Optimizer, "apply"),)  # what applies gradients

check = private.check


def install(instrumentation: Instrumentation) -> None:
    """Patches Keras; `UnsupportedVersion` where a hook point is missing."""
    if keras.config.backend() != "tensorflow":
        raise UnsupportedVersion(
            f"Keras runs on the {keras.config.backend()} backend; exact resume needs TensorFlow.",
            "Set KERAS_BACKEND=tensorflow, or continue without snapshots.",
        )
    check()
    if os.environ.get(ENV_SMALL_BUFFERS):
        private.hold_few_batches()
    private.watch_names(REGISTRY.naming)
    patch(instrumentation)


def patch(instrumentation: Instrumentation) -> None:
    private.warn_as_keras()
    instrumentation.lead(TRAINER, private.traceback_utils, (*_LED, *OBSERVED))


_LED: tuple[Hook, ...] = (
    (private.EpochIterator, "_enumerate_iterator", enumerate_steps),
    (private.EpochIterator, "_interrupted_warning", after(Training.input_exhausted)),
    (private.CallbackList, "on_train_begin", Training.train_begins),
    (private.PyDatasetAdapter, "get_tf_dataset", guarded_sequences.get_tf_dataset),
    (
        TRAINER,
        "_get_metrics_result_or_logs",
        lambda training, original, model, logs: original(model, training.logs_or_restored(logs)),
    ),
)
OBSERVED: tuple[Hook, ...] = (
    (private.TFEpochIterator, "__init__", after(_iterator_made)),
    *observed_callbacks(private.CallbackList),
)
