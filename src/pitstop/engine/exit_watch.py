"""Who makes the script exit, told before it happens; and which of its data workers die.

`multiprocessing.Pool` puts another worker in the place of a dead one, but what
it was working on is lost, and who waits for that result waits in vain.
"""

from __future__ import annotations

import builtins
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable
from functools import wraps
from multiprocessing import popen_fork
from types import FrameType
from typing import Any

from pitstop.engine.audit_events import subscribe
from pitstop.engine.fence import observing
from pitstop.engine.witness import innermost_user_frame, is_own_file, name_of
from pitstop.events import Event, ExitCalled, ThreadFailed, WorkerDied
from pitstop.machine.own_process import signal_name

_CALLS = ((sys, "exit"), (os, "_exit"), (os, "abort"))
_QUITTERS = ("exit", "quit")
_END_NOBODY = frozenset(
    {0, *map(int, (signal.SIGCHLD, signal.SIGCONT, signal.SIGURG, signal.SIGWINCH))}
    | set(map(int, (signal.SIGSTOP, signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU)))
)
"""By default; see signal(7)."""


class ExitWatch:
    """Reports calls that end the process, and threads that an exception ends."""

    def __init__(
        self, report: Callable[[Event], None], callback_of: Callable[[FrameType], str]
    ) -> None:
        self._report = report
        self._callback_of = callback_of
        self._pid = os.getpid()
        self._thread_hook = threading.excepthook

    def install(self) -> None:
        """Takes the place of `sys.exit`, `os._exit`, `os.abort`, `exit` and `quit`."""
        for module, name in _CALLS:
            setattr(module, name, self._told(f"{module.__name__}.{name}", getattr(module, name)))
        for name in _QUITTERS:
            quitter = type(getattr(builtins, name, None))
            if quitter.__module__ == "_sitebuiltins":
                self._watch_quitter(quitter)
                break
        subscribe(("os.kill",), self._on_kill)
        self._thread_hook = threading.excepthook
        threading.excepthook = self._on_thread_failed

    def _on_kill(self, _: str, arguments: tuple[Any, ...], __: FrameType | None) -> None:
        pid, number = arguments
        ends_it = number not in _END_NOBODY and signal.getsignal(number) is signal.SIG_DFL
        if pid in (0, self._pid) and ends_it:
            self._tell("os.kill", signal_name(number))

    def _told(self, how: str, original: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(original)
        def call(*arguments: Any, **named: Any) -> Any:
            self._tell(how, next(iter((*arguments, *named.values())), None))
            return original(*arguments, **named)

        return call

    def _watch_quitter(self, quitter: Any) -> None:
        original = quitter.__call__

        def call(its: Any, code: Any = None) -> None:
            self._tell(its.name, code)
            original(its, code)

        quitter.__call__ = call

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
        self._report(ExitCalled(how, words, file, line, function, callback, handling))

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
        self._report(ThreadFailed(thread, name_of(kind), words, *place))


class WorkerWatch:
    """Is told of every child whose status `multiprocessing` collects.

    Children that this process ended itself are none to tell of, and so are those that
    returned 0.
    """

    def __init__(self, report: Callable[[WorkerDied], None]) -> None:
        self._report = report
        self._pid = os.getpid()
        self._poll: Any = popen_fork.Popen.poll
        self._send_signal: Any = vars(popen_fork.Popen)["_send_signal"]
        self._ended_by_us: set[int] = set()

    def install(self) -> None:
        """Takes the place of two methods of `multiprocessing`'s handle of a process."""
        watch = self

        def poll(popen: Any, flag: int = os.WNOHANG) -> int | None:
            known = popen.returncode is not None
            code: int | None = watch._poll(popen, flag)
            if code and not known:
                watch.collected(popen.pid, code)
            return code

        def send_signal(popen: Any, number: int) -> None:
            watch._ended_by_us.add(popen.pid)
            watch._send_signal(popen, number)

        handle: Any = popen_fork.Popen
        handle.poll = poll
        handle._send_signal = send_signal

    @observing()
    def collected(self, pid: int, code: int) -> None:
        """A child has ended with this code, negative for a signal."""
        if os.getpid() != self._pid or pid in self._ended_by_us:
            return
        if code < 0:
            self._report(WorkerDied(pid, signal=signal_name(-code)))
        else:
            self._report(WorkerDied(pid, exit_code=code))
