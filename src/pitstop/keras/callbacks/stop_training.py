"""What set `model.stop_training`: the callback, the line, and what it watched."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import numpy as np

from pitstop.engine.frames import frames_from, is_user_file
from pitstop.engine.program import is_own_file
from pitstop.events import StopTrainingSet
from pitstop.keras.packages import kinds

_NAME = "stop_training"
_WATCHED = (
    *("monitor", "mode", "patience", "min_delta", "baseline", "best", "best_epoch"),
    *("wait", "stopped_epoch", "restore_best_weights"),
)


def watch(owner: type, notify: Callable[[Any, FrameType], None]) -> None:
    """Turns `stop_training` of a class into a property that tells who sets it."""

    def get(self: Any) -> bool:
        return bool(vars(self).get(_NAME, False))

    def set_(self: Any, value: bool) -> None:
        before = get(self)
        vars(self)[_NAME] = value
        if value and not before:
            notify(self, sys._getframe(1))

    setattr(owner, _NAME, property(get, set_))


def set_silently(model: Any, *, value: bool) -> None:
    vars(model)[_NAME] = value


def describe(frame: FrameType | None, step: int, epoch: int) -> StopTrainingSet:
    setter, callback = _setter(frame), _callback(frame)
    watched: dict[str, Any] = {}
    for name in _WATCHED:
        value: Any = getattr(callback, name, None)
        if isinstance(value, bool | int | str):
            watched[name] = value
        elif hasattr(value, "__float__") and np.ndim(value) == 0:
            watched[name] = float(value)
    return StopTrainingSet(
        step=step,
        epoch=epoch,
        callback=type(callback).__name__ if callback is not None else "",
        file=setter.f_code.co_filename if setter else "",
        line=setter.f_lineno if setter else 0,
        function=setter.f_code.co_name if setter else "",
        watched=watched,
    )


def callback_of(frame: FrameType) -> str:
    callback = _owner(frame)
    return type(callback).__name__ if callback is not None else ""


def _owner(frame: FrameType) -> Any:
    """The callback that a frame belongs to, or is called by: a lambda has no frame of its own."""
    owner = frame.f_locals.get("self")
    if isinstance(owner, kinds("callbacks.CallbackList")):
        owner = frame.f_locals.get("callback")
    return owner if isinstance(owner, kinds("callbacks.Callback")) else None


def _setter(frame: FrameType | None) -> FrameType | None:
    first = None
    for each in frames_from(frame):
        name = each.f_code.co_filename
        if is_user_file(name) or callback_of(each):
            return each
        if first is None and not is_own_file(name):
            first = each
    return first


def _callback(frame: FrameType | None) -> Any:
    callbacks = (_owner(each) for each in frames_from(frame) if callback_of(each))
    return next(callbacks, None)
