"""Calls that end the process, threads that an exception ends, and workers that die."""

import builtins
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from multiprocessing import popen_fork
from types import FrameType
from typing import Any

from pitstop import events
from pitstop.engine.audit_events import subscribe
from pitstop.engine.fence import observing
from pitstop.engine.frames import innermost_user_frame
from pitstop.engine.hooking import Original, hook
from pitstop.engine.program import is_own_file
from pitstop.engine.session import exit_calls
from pitstop.engine.session.witness import CallbackOf, name_of
from pitstop.machine.own_process import signal_name

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
