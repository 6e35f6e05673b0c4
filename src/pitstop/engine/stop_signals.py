"""Ctrl-C and SIGTERM of a script that is its own launcher."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from pitstop.engine.session import Session
from pitstop.events import StopRequested

_WATCHED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class StopSignals:
    """While entered, these signals ask for a stop at the next step boundary.

    A second Ctrl-C does what Ctrl-C always did, and so does every signal in a
    forked child.  Handlers of the script's own are left in place, and so is
    everything outside of the main thread.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._pid = os.getpid()
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> StopSignals:
        if threading.current_thread() is threading.main_thread():
            for number in _WATCHED:
                before = signal.getsignal(number)
                if before in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = before
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        if os.getpid() != self._pid:
            # A forked data worker, which its pool ends so: it is to end, and the training is not.
            signal.signal(received, self._before[received])
            os.kill(os.getpid(), received)
            return
        if self._session.stop_requested() and received is signal.SIGINT:
            self.__exit__(None, None, None)
            raise KeyboardInterrupt
        self._session.stop_signal = received
        self._session.lockstep.raise_stop()
        # The main thread may be in the middle of a message to the supervisor.
        event = StopRequested(source="signal", urgency="graceful", signal=received.name)
        threading.Thread(
            target=self._session.report, args=(event,), name="pitstop-stop", daemon=True
        ).start()
