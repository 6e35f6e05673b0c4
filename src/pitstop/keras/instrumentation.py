"""How the hooks of a process lead to its training, whichever package Keras comes in.

Nothing is reported and nobody is waited for until the script calls `fit`.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from pitstop.engine import process_session
from pitstop.engine.fence import observing
from pitstop.engine.leaving import ending_threads
from pitstop.errors import PeerFault
from pitstop.keras import fit_on_workers, stop_training
from pitstop.keras.training import Training
from pitstop.tensorflow import private
from pitstop.tensorflow.devices import computed_with
from pitstop.tensorflow.variables import VariableRegistry

Wrap = Callable[[Callable[..., Any]], Callable[..., Any]]
Observe = Callable[..., None]


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
        self._notifies = False

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

    def leaving(self) -> AbstractContextManager[None]:
        """Around a `fit`: what a stop does to whoever called it."""
        return ending_threads()

    def _open(self) -> Training:
        found = computed_with()
        session = process_session.open_session(self._socket_path, found, stop_training.callback_of)
        return Training(session, self._registry, found)

    def _forget(self) -> None:
        # A forked data worker shares the descriptors, not the run; nor does one that trains
        # beside its parent.  The child of one that does not train may.
        self._refused |= self._training is not None
        self._training = None

    def watch_notices(self) -> None:
        """Learns of random ops as they are traced."""
        if not self._notifies:
            self._notifies = True
            private.on_hidden_random_op(_hidden_random_op(self))


_OF_PROCESS: dict[str, Instrumentation] = {}


def of_process(socket_path: str, registry: VariableRegistry) -> Instrumentation:
    """The one of this process: a script may train with both packages, in one run."""
    if socket_path not in _OF_PROCESS:
        _OF_PROCESS[socket_path] = Instrumentation(socket_path, registry)
    return _OF_PROCESS[socket_path]


def fit_hook(instrumentation: Instrumentation) -> Wrap:
    """Leads `fit` through the training of the process."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
            training = instrumentation.begin()
            if training is None:
                return original(self, *args, **kwargs)
            session = training.session
            with instrumentation.leaving():
                if fit_on_workers.is_sent_to_workers(self) and not session.stopped:
                    return fit_on_workers.run(session, original, self, *args, **kwargs)
                return training.fit(original, self, *args, **kwargs)

        return fit

    return wrap


def train_begin_hook(instrumentation: Instrumentation) -> Wrap:
    """Leads `CallbackList.on_train_begin` there."""

    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        def on_train_begin(self: Any, logs: Any = None) -> None:
            training = instrumentation.training
            if training is None:
                original(self, logs)
            else:
                training.train_begins(self, lambda: original(self, logs))

        return on_train_begin

    return wrap


def before(observe: Observe) -> Callable[[Instrumentation], Wrap]:
    """Lets the training look on before a method of Keras runs."""
    observe = observing(spoils=True)(observe)

    def of(instrumentation: Instrumentation) -> Wrap:
        def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
            @functools.wraps(original)
            def method(self: Any, *args: Any, **kwargs: Any) -> Any:
                if instrumentation.training is not None:
                    observe(instrumentation.training, self, *args, **kwargs)
                return original(self, *args, **kwargs)

            return method

        return wrap

    return of


def after(observe: Observe) -> Callable[[Instrumentation], Wrap]:
    """Lets the training look on when a method of Keras has run."""
    observe = observing(spoils=True)(observe)

    def of(instrumentation: Instrumentation) -> Wrap:
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


When = Callable[[Observe], Callable[[Instrumentation], Wrap]]
Observed = tuple[Any, str, When, Observe]
"""A method of Keras that is only looked at, and by what; all of these are fenced."""


def observed_callbacks(callback_list: Any) -> tuple[Observed, ...]:
    """Methods of a package's `CallbackList`."""
    return (
        (callback_list, "on_epoch_begin", after, Training.epoch_begins),
        (callback_list, "on_epoch_end", before, Training.epoch_ends),
        (callback_list, "on_train_batch_end", before, Training.step_returned),
        (callback_list, "on_test_begin", before, Training.test_begins),
        (callback_list, "on_test_end", after, Training.test_ends),
    )


def stop_training_hook(instrumentation: Instrumentation) -> Callable[[Any, FrameType], None]:
    """Tells of who sets `stop_training`."""

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
