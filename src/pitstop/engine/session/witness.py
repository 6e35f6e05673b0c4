"""What only the trainer can know about its end: exceptions that nobody caught, and the exit."""

import atexit
import gc
import io
import os
import sys
import traceback
from collections.abc import Callable
from types import FrameType, TracebackType

from pitstop import events
from pitstop.engine.fence import observing
from pitstop.engine.frames import innermost_user_frame, without_own_frames
from pitstop.engine.leaving import flush_all
from pitstop.link.beacon import Beacon, Phase

_CALLBACK = "_pitstop_callback"  # attribute of an exception that came out of one
CallbackOf = Callable[[FrameType], str]
"""Gives the class of the callback that runs in a frame; empty where none does."""

_Trace = TracebackType | None
_Report = Callable[[events.Event], None]
_TRACEBACK_CHARACTERS = 8000
_FRAMEWORK = "tensorflow."


def clean(error: BaseException) -> None:
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        current = waiting.pop()
        if current is not None and id(current) not in seen:
            seen.add(id(current))
            current.__traceback__ = without_own_frames(current.__traceback__)
            waiting += [current.__cause__, current.__context__]
            waiting += current.exceptions if isinstance(current, BaseExceptionGroup) else ()


def name_of(kind: type[BaseException]) -> str:
    return f"{kind.__module__}.{kind.__qualname__}".removeprefix("builtins.")


def fit_left(fit: int, error: BaseException) -> events.FitLeft:
    place = innermost_user_frame(traceback.walk_tb(error.__traceback__))
    return events.FitLeft(fit, name_of(type(error)), *place)


@observing()
def note_callback(error: BaseException, callback_of: CallbackOf) -> None:
    """Called before Keras takes the frames of its callbacks out of the traceback."""
    vars(error)[_CALLBACK] = _innermost_callback(error.__traceback__, callback_of)


def _innermost_callback(trace: _Trace, callback_of: CallbackOf) -> str:
    names = [callback_of(frame) for frame, _ in traceback.walk_tb(trace)]
    return next(filter(None, reversed(names)), "")


class Witness:
    """Reports uncaught exceptions and the normal end of the interpreter.

    Where a stop was asked for, it also makes that end a quick one.
    """

    def __init__(self, report: _Report, beacon: Beacon, callback_of: CallbackOf) -> None:
        self._report = report
        self.beacon = beacon
        self._callback_of = callback_of
        self._excepthook = sys.excepthook
        self._pid = os.getpid()

    def install(self) -> None:
        sys.excepthook = self._on_exception
        atexit.register(self._on_exit)

    def _on_exception(self, kind: type[BaseException], error: BaseException, trace: _Trace) -> None:
        observing()(clean)(error)
        trace = error.__traceback__
        try:
            if os.getpid() == self._pid:
                self._tell(kind, error, trace)
        finally:
            self._excepthook(kind, error, trace)

    @observing()
    def _tell(self, kind: type[BaseException], error: BaseException, trace: _Trace) -> None:
        frames = list(traceback.walk_tb(trace))
        file, line, function = innermost_user_frame(frames)
        # Unlike `str(error)`, this works for any class.
        words = traceback.TracebackException(kind, error, trace)
        raised = events.ExceptionRaised(
            class_name=name_of(kind),
            message=str(words)[:_TRACEBACK_CHARACTERS],
            file=file,
            line=line,
            function=function,
            callback=vars(error).get(_CALLBACK) or _innermost_callback(trace, self._callback_of),
            phase=self.beacon.phase().name.lower(),
            traceback="".join(words.format())[-_TRACEBACK_CHARACTERS:],
            bases=[base.__name__ for base in kind.__mro__[1:-1]],
        )
        self._report(raised)

    @observing()
    def _on_exit(self) -> None:
        if os.getpid() == self._pid:
            self._report(events.ScriptEnded(step=self.beacon.progress().step))
            self.beacon.write_phase(Phase.ENDED)
            if self.beacon.stop():
                leave_out_last_collection()


def leave_out_last_collection() -> None:
    """Flushes open files, and takes all objects out of garbage collection.

    With TensorFlow, the collection at the exit takes a second or more of the time for the stop.
    """
    flush_all(_has_buffer)
    gc.freeze()


def _has_buffer(kind: type) -> bool:
    if issubclass(kind, io.IOBase):
        return True
    is_framework = str(kind.__module__).startswith(_FRAMEWORK)
    return is_framework and callable(getattr(kind, "flush", None))
