"""Puts the watch into Keras: one thin function per hook point, no logic.

`install` runs when Keras has been imported; nothing is reported and nobody is
waited for until the script calls `fit`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import keras

from pitstop.engine import process_session
from pitstop.engine.fence import observing
from pitstop.engine.leaving import ending_threads
from pitstop.errors import PeerFault, UnsupportedVersion
from pitstop.keras import private, stop_training
from pitstop.keras.training import Training
from pitstop.tensorflow import private as tensorflow_private
from pitstop.tensorflow.devices import computed_with
from pitstop.tensorflow.variables import VariableRegistry


class Instrumentation:
    """Opens the session at the first `fit`, and leads the hooks to its training."""

    def __init__(
        self,
        socket_path: str,
        registry: VariableRegistry,
        training: Training | None = None,
    ) -> None:
        self._socket_path = socket_path
        self._registry = registry
        self._training = training
        self._refused = False
        os.register_at_fork(after_in_child=self._forget)

    @property
    def training(self) -> Training | None:
        """The training of this process, None before the first `fit` and in children."""
        return self._training

    def begin(self) -> Training | None:
        """The training of this process, opened if need be; None when refused."""
        if self._training is None and not self._refused:
            session = process_session.current()
            if session is not None and not session.trains_with_fit:
                # `pitstop.start`: this fit is part of a step of the script's loop.
                self._refused = True
                return None
            try:
                self._training = self._open()
            except PeerFault:
                # Another process of the run trains, or the run is over: this
                # one goes on as if Pitstop were not there.
                self._refused = True
        return self._training

    def _open(self) -> Training:
        found = computed_with()
        session = process_session.open_session(self._socket_path, found, stop_training.callback_of)
        return Training(session, self._registry, found)

    def _forget(self) -> None:
        # A forked data worker shares the descriptors, not the run; nor does one that trains
        # beside its parent.  The child of one that does not train may.
        self._refused |= self._training is not None
        self._training = None


def install(socket_path: str, registry: VariableRegistry) -> None:
    """Patches Keras, or reports why it cannot be.

    Raises:
        UnsupportedVersion: a hook point is missing.
    """
    if keras.config.backend() != "tensorflow":
        raise UnsupportedVersion(
            f"Keras runs on the {keras.config.backend()} backend; exact resume needs TensorFlow.",
            "Set KERAS_BACKEND=tensorflow, or run on without snapshots.",
        )
    private.check()
    private.watch_names(registry.naming)
    patch(Instrumentation(socket_path, registry))


def patch(instrumentation: Instrumentation) -> None:
    """Leads Keras through an instrumentation from now on."""
    private.hide_own_frames()
    private.replace_inner_fit(_fit(instrumentation))
    for owner, name, wrap in _METHODS:
        private.replace_method(owner, name, wrap(instrumentation))
    stop_training.watch(private.Trainer, _stop_training(instrumentation))
    tensorflow_private.on_hidden_random_op(_hidden_random_op(instrumentation))


_Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]


def _fit(instrumentation: Instrumentation) -> _Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            training = instrumentation.begin()
            if training is None:
                return original(self, *args, **kwargs)
            with ending_threads():
                return training.fit(original, self, *args, **kwargs)

        return fit

    return wrap


def _enumerate(instrumentation: Instrumentation) -> _Wrap:
    def wrap(original: Callable[..., Iterator[Any]]) -> Callable[..., Any]:
        def _enumerate_iterator(self: Any) -> Iterator[Any]:
            training = instrumentation.training
            if training is None:
                return original(self)
            return training.enumerate(original, self)

        return _enumerate_iterator

    return wrap


def _exhausted(instrumentation: Instrumentation) -> _Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def _interrupted_warning(self: Any) -> None:
            private.warn_as_keras(lambda: original(self))
            if instrumentation.training is not None:
                instrumentation.training.input_exhausted(self)

        return _interrupted_warning

    return wrap


def _train_begin(instrumentation: Instrumentation) -> _Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def on_train_begin(self: Any, logs: Any = None) -> None:
            training = instrumentation.training
            if training is None:
                original(self, logs)
            else:
                training.train_begins(self, lambda: original(self, logs))

        return on_train_begin

    return wrap


_Observe = Callable[..., None]


def _before(observe: _Observe) -> Callable[[Instrumentation], _Wrap]:
    """Lets the training look on before a method of Keras runs."""
    observe = observing(spoils=True)(observe)

    def of(instrumentation: Instrumentation) -> _Wrap:
        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def method(self: Any, *args: Any, **kwargs: Any) -> Any:
                if instrumentation.training is not None:
                    observe(instrumentation.training, self, *args, **kwargs)
                return original(self, *args, **kwargs)

            return method

        return wrap

    return of


def _after(observe: _Observe) -> Callable[[Instrumentation], _Wrap]:
    """Lets the training look on when a method of Keras has run."""
    observe = observing(spoils=True)(observe)

    def of(instrumentation: Instrumentation) -> _Wrap:
        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def method(self: Any, *args: Any, **kwargs: Any) -> Any:
                result = original(self, *args, **kwargs)
                if instrumentation.training is not None:
                    observe(instrumentation.training, self, *args, **kwargs)
                return result

            return method

        return wrap

    return of


def _metrics_or_logs(instrumentation: Instrumentation) -> _Wrap:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def _get_metrics_result_or_logs(self: Any, logs: Any) -> Any:
            training = instrumentation.training
            return original(self, logs if training is None else training.logs_or_restored(logs))

        return _get_metrics_result_or_logs

    return wrap


_When = Callable[[_Observe], Callable[[Instrumentation], _Wrap]]

OBSERVED: tuple[tuple[type, str, _When, _Observe], ...] = (
    (private.TFEpochIterator, "__init__", _after, Training.iterator_made),
    (private.CallbackList, "on_epoch_begin", _after, Training.epoch_begins),
    (private.CallbackList, "on_epoch_end", _before, Training.epoch_ends),
    (private.CallbackList, "on_train_batch_end", _before, Training.step_returned),
    (private.CallbackList, "on_test_begin", _before, Training.test_begins),
    (private.CallbackList, "on_test_end", _after, Training.test_ends),
)
"""Methods of Keras that are only looked at, and by what; all of these are fenced."""

_METHODS: tuple[tuple[type, str, Callable[[Instrumentation], _Wrap]], ...] = (
    (private.EpochIterator, "_enumerate_iterator", _enumerate),
    (private.EpochIterator, "_interrupted_warning", _exhausted),
    (private.CallbackList, "on_train_begin", _train_begin),
    (private.TensorFlowTrainer, "_get_metrics_result_or_logs", _metrics_or_logs),
    *((owner, name, when(observe)) for owner, name, when, observe in OBSERVED),
)


def _stop_training(instrumentation: Instrumentation) -> Callable[[Any, FrameType], None]:
    @observing()
    def notify(model: Any, frame: FrameType) -> None:
        training = instrumentation.training
        if training is not None and training.run is not None and training.run.model is model:
            run = training.run
            training.session.report(stop_training.describe(frame, run.step_reached, run.epoch))

    return notify


def _hidden_random_op(instrumentation: Instrumentation) -> Callable[[str], None]:
    @observing(spoils=True)
    def notify(op_type: str) -> None:
        if instrumentation.training is not None:
            instrumentation.training.hidden_random_op(op_type)

    return notify
