"""The epochs and steps of Keras 2, with a boundary at each step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from pitstop.engine.fence import observing
from pitstop.keras import left_out, nan_trace
from pitstop.keras.continuation import Continuation
from pitstop.keras.fit_run import FitRun
from pitstop.keras.legacy_source import LegacySource, placeholder, take_place
from pitstop.keras.repeated_shuffle import RepeatedShuffles
from pitstop.keras.training import Training

_Original = Callable[[Any], Iterator[Any]]


def enumerate_epochs(training: Training, original: _Original, handler: Any) -> Iterator[Any]:
    """What `DataHandler.enumerate_epochs` yields: epochs, and the iterator of each."""
    run = training.run
    if run is not None and _feeds(run, handler) and run.callbacks is not None:
        yield from _training_epochs(training, run)
        return
    _count_shuffles(handler)
    for epoch, iterator in original(handler):
        # A validation's iterator tells how far the seeds of its shuffles have gone.
        handler._pitstop_iterator = iterator
        yield epoch, iterator


def _feeds(run: FitRun, handler: Any) -> bool:
    return getattr(run.epoch_iterator, "handler", None) is handler


@observing(spoils=True)
def _count_shuffles(handler: Any) -> None:
    RepeatedShuffles(handler._dataset, in_parts=bool(handler._steps_per_epoch)).begin()


def _training_epochs(training: Training, run: FitRun) -> Iterator[Any]:
    source: LegacySource = run.epoch_iterator
    handler, continuation = source.handler, training.continuation
    with handler._truncate_execution_to_epoch():
        if continuation is not None:
            handler._initial_epoch = continuation.position.epoch
        waits = continuation is not None and not run.input.begins_anew
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
    """What `DataHandler.steps` yields, with a boundary at each step."""
    run = training.run
    if run is None or not _feeds(run, handler) or run.callbacks is None:
        yield from training.outside(original(handler))
        return
    continuation = training.take_continuation()
    if continuation is not None:
        _restore(run, continuation)
    elif run.input.is_untouched:
        # A reader of the script's begins with the first step: callbacks may have drawn since.
        run.look_for_streams()
        run.input.before_iterator()
    run.begin_steps()
    if continuation is None or continuation.position.stage == "steps":
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
    if not run.input.begins_anew:
        take_place(run.held_iterator, iterator)
    # A cut behind the last call of an epoch, which may be a shorter one, has its number.
    handler._steps_per_execution.assign(stride)
    handler._initial_step = run.step_in_epoch
