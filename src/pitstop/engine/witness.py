"""What only the trainer can know about its end: exceptions, exits, and the calls of them."""

import atexit
import builtins
import functools
import gc
import io
import os
import signal
import sys
import sysconfig
import threading
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import zip_longest
from multiprocessing import popen_fork
from types import CodeType, FrameType, TracebackType
from typing import Any

from pitstop import events
from pitstop.engine import exit_calls
from pitstop.engine.audit_events import subscribe
from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.engine.leaving import flush_all
from pitstop.engine.made_folders import STDIN, TEXT
from pitstop.engine.program import MOST_FILES, is_installed, is_of_program, is_own_file
from pitstop.link.beacon import Beacon, Phase
from pitstop.machine.own_process import signal_name

_CALLBACK = "_pitstop_callback"  # attribute of an exception that came out of one
CallbackOf = Callable[[FrameType], str]
"""Gives the class of the callback that runs in a frame; empty where none does."""

_Trace = TracebackType | None
_Report = Callable[[events.Event], None]
_QUITTERS = ("exit", "quit")
_END_NOBODY = frozenset(
    {0, *map(int, (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH))}
    | set(map(int, (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)))
)
"""By default; see signal(7)."""


class ExitWatch:
    """Reports calls that end the process, and threads that an exception ends."""

    def __init__(self, report: _Report, callback_of: CallbackOf) -> None:
        self._report = report
        self._callback_of = callback_of
        self._pid = os.getpid()
        self._thread_hook = threading.excepthook

    def install(self) -> None:
        exit_calls.tell(self._tell)
        for name in _QUITTERS:
            quitter = type(getattr(builtins, name, None))
            if quitter.__module__ == "_sitebuiltins":
                hook(quitter, "__call__", self._quit)
                break
        subscribe(events.SIGNALLING[:2], self._on_kill)
        # It causes no event.
        hook(signal, "raise_signal", self._raise_signal)
        threading.excepthook = self._on_thread_failed

    def _on_kill(self, how: str, arguments: tuple[Any, ...], caller: FrameType | None) -> None:
        if caller and is_own_file(caller.f_code.co_filename):
            return
        target, number = arguments
        ends_it = number not in _END_NOBODY and signal.getsignal(number) is signal.SIG_DFL
        if ends_it and (how != "os.kill" or target in (0, self._pid)):
            self._tell(how, signal_name(number))

    def _raise_signal(self, original: Callable[[int], None], number: int) -> None:
        self._on_kill(events.SIGNALLING[2], (self._pid, number), None)
        original(number)

    def _quit(self, original: Original, quitter: Any, code: Any = None) -> None:
        self._tell(quitter.name, code)
        original(quitter, code)

    @observing()
    def _tell(self, how: str, code: Any) -> None:
        ends_only_its_thread = threading.current_thread() is not threading.main_thread()
        if os.getpid() != self._pid or (ends_only_its_thread and not how.startswith("os.")):
            return
        frames = reversed(list(traceback.walk_stack(sys._getframe(1))))
        theirs = [each for each in frames if not is_own_file(each[0].f_code.co_filename)]
        file, line, function = innermost_user_frame(theirs)
        callbacks = [name for frame, _ in theirs if (name := self._callback_of(frame))]
        words = "0" if code is None else str(code)[:200]
        callback = callbacks[-1] if callbacks else ""
        handled = sys.exc_info()[0]
        handling = handled.__name__ if handled else ""
        module = theirs[-1][0].f_globals.get("__name__", "") if theirs else ""
        self._report(
            events.ExitCalled(how, words, file, line, function, callback, handling, str(module))
        )

    def _on_thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        self._tell_thread_failed(failed)
        self._thread_hook(failed)

    @observing()
    def _tell_thread_failed(self, failed: threading.ExceptHookArgs) -> None:
        kind = failed.exc_type
        if os.getpid() != self._pid or kind is SystemExit:
            return
        trace = failed.exc_traceback
        place = innermost_user_frame(traceback.walk_tb(trace))
        words = str(traceback.TracebackException(kind, failed.exc_value or kind(), trace))[:2000]
        thread = failed.thread.name if failed.thread else ""
        self._report(events.ThreadFailed(thread, name_of(kind), words, *place))


class WorkerWatch:
    """Reports the end of `multiprocessing` children, unless it was asked for here or returned 0."""

    def __init__(self, report: Callable[[events.WorkerDied], None]) -> None:
        self._report = report
        self._pid = os.getpid()
        self._ended_by_us: set[int] = set()

    def install(self) -> None:
        hook(popen_fork.Popen, "poll", self._poll)
        hook(popen_fork.Popen, "_send_signal", self._send_signal)

    def _poll(self, original: Original, popen: Any, flag: int = os.WNOHANG) -> int | None:
        known = popen.returncode is not None
        code: int | None = original(popen, flag)
        if code and not known:
            self.collected(popen.pid, code)
        return code

    def _send_signal(self, original: Original, popen: Any, number: int) -> None:
        self._ended_by_us.add(popen.pid)
        original(popen, number)

    @observing()
    def collected(self, pid: int, code: int) -> None:
        if os.getpid() != self._pid or pid in self._ended_by_us:
            return
        if code < 0:
            self._report(events.WorkerDied(pid, signal=signal_name(-code)))
        else:
            self._report(events.WorkerDied(pid, exit_code=code))


_LIBRARIES = tuple(
    path + os.sep
    for key in ("purelib", "platlib", "stdlib", "platstdlib")
    if (path := sysconfig.get_paths().get(key))
)
_TRACEBACK_CHARACTERS = 8000
_FRAMEWORK = "tensorflow."


@functools.lru_cache(maxsize=MOST_FILES)
def is_user_file(filename: str) -> bool:
    if is_own_file(filename):
        return False
    return (
        filename == STDIN
        or is_of_program(filename)
        or not (
            filename.startswith((*_LIBRARIES, "<"))
            or is_installed(filename)
            or "__autograph_generated_file" in filename
            or filename.endswith(".pyx")  # compiled code knows the path of its build only
        )
    )


def is_of_script(code: CodeType, scope: Mapping[str, Any]) -> bool:
    """Also what the script runs from a text: by `exec` or `eval`, or all of it (`python -c`)."""
    if code.co_filename != TEXT:
        return is_user_file(code.co_filename)
    file = scope.get("__file__")
    return is_user_file(str(file)) if file else scope.get("__name__", "__main__") == "__main__"


def frames_from(frame: FrameType | None) -> Iterator[FrameType]:
    """A frame, and those that have called it, from the innermost out."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def without_own_frames(trace: _Trace) -> _Trace:
    kept = []
    while trace is not None:
        if not is_own_file(trace.tb_frame.f_code.co_filename):
            kept.append(trace)
        trace = trace.tb_next
    for link, following in zip_longest(kept, kept[1:]):
        link.tb_next = following
    return kept[0] if kept else None


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


def innermost_user_frame(frames: Iterable[tuple[FrameType, int]]) -> tuple[str, int, str]:
    """File, line and function of the user's last frame, outermost first; empty without one."""
    found = ("", 0, "")
    for frame, line in frames:
        if is_user_file(frame.f_code.co_filename):
            found = (frame.f_code.co_filename, line, frame.f_code.co_name)
    return found


def place_on_stack() -> str:
    file, line, _ = innermost_user_frame(reversed(list(traceback.walk_stack(None))))
    return f"{file}:{line}" if file else "a library"


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
