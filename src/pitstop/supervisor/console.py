"""Events of a Windows console, as the signals that they stand for.

A console does not send signals: it calls a function of the process, in a thread of its
own.  That function puts the same values into the same queue.  See SetConsoleCtrlHandler
and HandlerRoutine in Microsoft's documentation of the console.
"""

from __future__ import annotations

import enum
import signal

_CLOSE_SECONDS = 5.0
_SHUTDOWN_SECONDS = 20.0


class ConsoleEvent(enum.IntEnum):
    """What a console tells; the value is Windows' own."""

    CTRL_C = 0
    CTRL_BREAK = 1
    CLOSE = 2
    LOGOFF = 5
    SHUTDOWN = 6

    @property
    def signal(self) -> signal.Signals:
        """What it is called on other systems: somebody interrupts, hangs up, or terminates."""
        return _SIGNALS[self]

    @property
    def seconds_left(self) -> float | None:
        """What Windows waits for the handler to return before it ends the process."""
        return _SECONDS.get(self)


_SIGNALS = {
    ConsoleEvent.CTRL_C: signal.SIGINT,
    ConsoleEvent.CTRL_BREAK: signal.SIGTERM,
    ConsoleEvent.CLOSE: signal.SIGHUP,
    ConsoleEvent.LOGOFF: signal.SIGTERM,
    ConsoleEvent.SHUTDOWN: signal.SIGTERM,
}
_SECONDS = {
    ConsoleEvent.CLOSE: _CLOSE_SECONDS,
    ConsoleEvent.LOGOFF: _CLOSE_SECONDS,
    ConsoleEvent.SHUTDOWN: _SHUTDOWN_SECONDS,
}
