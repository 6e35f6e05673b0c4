"""How the hooks of a process lead to its training, whichever package Keras comes in."""

import functools
import importlib
import os
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import FrameType
from typing import Any

from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.engine.leaving import ending_threads
from pitstop.engine.session import process_session
from pitstop.errors import PeerFault
from pitstop.keras import step_draws
from pitstop.keras.callbacks import stop_training
from pitstop.keras.common_private import hide_own_frames, replace_inner_fit
from pitstop.keras.fits.fit_run import FitRun
from pitstop.keras.training import Training
from pitstop.link.settings import ENV_MIXED_PRECISION, MIXED_PRECISION
from pitstop.tensorflow import private
from pitstop.tensorflow.devices import computed_with
from pitstop.tensorflow.traced_ops import OpKind

Around = Callable[..., Any]
"""What runs in the place of a method: given the training, the method, and its arguments."""

Hook = tuple[Any, str, Around]
"""A class or module of Keras, the name of a method of it, and what runs in its place."""


class Instrumentation:
    """Opens the session at the first `fit`, and leads the hooks to its training."""

    def __init__(self, socket_path: str) -> None:
        self.training: Training | None = None
        self._socket_path = socket_path
        self._refused = False
        os.register_at_fork(after_in_child=self._forget)
        self._notifies = False

    def begin(self) -> Training | None:
        if self.training is None and not self._refused:
            session = process_session.current()
            if session is not None and not session.trains_with_fit:
                # `pitstop.start`: this fit is part of a step of the script's loop.
                self._refused = True
                return None
            found, callback_of = computed_with(), stop_training.callback_of
            try:
                session = process_session.open_session(self._socket_path, found, callback_of)
                self.training = Training(session, found)
            except PeerFault:
                # Another process of the run trains, or the run is over: this
                # one goes on as if Pitstop were not there.
                self._refused = True
        return self.training

    def leaving(self) -> AbstractContextManager[None]:
        return ending_threads()

    def _forget(self) -> None:
        # A forked data worker shares the descriptors, not the run; nor does one that trains
        # beside its parent.  The child of one that does not train may.
        self._refused |= self.training is not None
        self.training = None

    # -- hooks -------------------------------------------------------------------------

    def lead(self, model_class: type, traceback_utils: Any, hooks: Iterable[Hook]) -> None:
        if os.environ.get(ENV_MIXED_PRECISION):
            package = importlib.import_module(model_class.__module__.partition(".")[0])
            package.mixed_precision.set_global_policy(MIXED_PRECISION)
        hide_own_frames(traceback_utils)
        replace_inner_fit(model_class, self._led_fit)
        for owner, name, around in hooks:
            hook(owner, name, functools.partial(self._led, around))
        step_draws.watch(model_class)
        stop_training.watch(model_class, self.note_stop_training)
        if not self._notifies:
            self._notifies = True
            private.on_traced_op({OpKind.RANDOM: self.note_random_op})

    def _led_fit(self, original: Original) -> Callable[..., Any]:
        def fit(model: Any, /, *args: Any, **kwargs: Any) -> Any:
            training = self.begin()
            if training is None:
                return original(model, *args, **kwargs)
            with self.leaving():
                return training.fit(original, model, *args, **kwargs)

        return fit

    def _led(self, around: Around, original: Original, /, *args: Any, **kwargs: Any) -> Any:
        training = self.training
        if training is None:
            return original(*args, **kwargs)
        return around(training, original, *args, **kwargs)

    @observing()
    def note_stop_training(self, model: Any, frame: FrameType) -> None:
        if self.training is not None:
            self.training.stop_training_set(model, frame)

    @observing(spoils=True)
    def note_random_op(self, op_type: str) -> None:
        if self.training is not None:
            self.training.hidden_random_op(op_type)


@functools.cache
def of_process(socket_path: str) -> Instrumentation:
    """The one of this process: a script may train with both packages, in one run."""
    return Instrumentation(socket_path)


def before(observe: Callable[..., None]) -> Around:
    observe = observing(spoils=True)(observe)

    def around(training: Training, original: Original, /, *args: Any, **kwargs: Any) -> Any:
        observe(training, *args, **kwargs)
        return original(*args, **kwargs)

    return around


def after(observe: Callable[..., None]) -> Around:
    observe = observing(spoils=True)(observe)

    def around(training: Training, original: Original, /, *args: Any, **kwargs: Any) -> Any:
        result = original(*args, **kwargs)
        observe(training, *args, **kwargs)
        return result

    return around


def observed_callbacks(callback_list: Any) -> tuple[Hook, ...]:
    return (
        (callback_list, "on_epoch_begin", after(_of_run(FitRun.epoch_begins))),
        (callback_list, "on_epoch_end", before(_of_run(FitRun.epoch_ends))),
        (callback_list, "on_train_batch_end", before(_of_run(FitRun.step_returned))),
        (callback_list, "on_test_begin", before(_of_run(FitRun.test_begins))),
        (callback_list, "on_test_end", after(_of_run(FitRun.test_ends))),
    )


def _of_run(observe: Callable[..., None]) -> Callable[..., None]:
    @functools.wraps(observe)
    def of_training(training: Training, callbacks: Any, *args: Any, **kwargs: Any) -> None:
        run = training.run
        if run is not None and callbacks is run.callbacks:
            getattr(run, observe.__name__)(*args, **kwargs)  # its own kind may do it otherwise

    return of_training
