"""Puts the recorder into TensorFlow and Keras: one thin function per hook point."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any

from pitstop.engine.fence import observing
from pitstop.engine.session import Session
from pitstop.replay.callee import Call, FunctionCallee, MethodCallee
from pitstop.replay.recorder import Recorder
from pitstop.tensorflow import private
from pitstop.tensorflow.variables import VariableRegistry

WATCHED_METHODS = (
    "train_on_batch",
    "test_on_batch",
    "predict_on_batch",
    "evaluate",
    "predict",
)


def watch_functions(
    registry: VariableRegistry, open_session: Callable[[], Session | None]
) -> Recorder:
    """Leads calls of `tf.function`s and reads of variables to a recorder.

    Args:
        registry: the variables of this process.
        open_session: see `Recorder`.
    """
    recorder = Recorder(open_session, registry)
    private.replace_function_call(functools.partial(_function_call, recorder))
    private.before_variable_read(recorder.reads)
    private.on_hidden_random_op(recorder.traced_random_op)
    private.on_input_op(recorder.traced_input_op)
    os.register_at_fork(after_in_child=recorder.switch_off)
    return recorder


def watch_models(recorder: Recorder, trainer: type, optimizer: type) -> None:
    """Leads the calls of Keras models to the recorder.

    Args:
        recorder: of this process.
        trainer: the class with `fit` and its like.
        optimizer: the class with `apply`.
    """
    for name in WATCHED_METHODS:
        setattr(trainer, name, _method(recorder, name, getattr(trainer, name)))
    for owner, name, wrap in ((trainer, "fit", _fit), (optimizer, "apply", _apply)):
        setattr(owner, name, wrap(recorder, getattr(owner, name)))


def _function_call(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.listens() or private.runs_eagerly(self):
            return original(self, *args, **kwargs)
        run = functools.partial(original, self, *args, **kwargs)
        return recorder.call(Call(FunctionCallee(self), run, args, kwargs))

    return __call__


def _method(recorder: Recorder, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.listens():
            return original(self, *args, **kwargs)
        run = functools.partial(original, self, *args, **kwargs)
        return recorder.call(Call(MethodCallee(self, name), run, args, kwargs))

    return method


def _fit(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def fit(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not recorder.listens():
            return original(self, *args, **kwargs)
        return recorder.aside(functools.partial(original, self, *args, **kwargs))

    return fit


def _apply(recorder: Recorder, original: Callable[..., Any]) -> Callable[..., Any]:
    applies_gradients = observing(spoils=True)(recorder.applies_gradients)

    @functools.wraps(original)
    def apply(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        applies_gradients()
        return result

    return apply
