"""What a script has to do with stops: `pitstop.request_stop`, `pitstop.stopped`, and signals."""

import os
import signal
import threading
import warnings
from types import FrameType
from typing import Any, Self

from pitstop.engine.connection.request import request
from pitstop.engine.session import process_session
from pitstop.engine.session.session import Session
from pitstop.events import StopRequested
from pitstop.link.messages import ClientRequest
from pitstop.link.settings import ENV_SOCKET


def request_stop(reason: str = "") -> None:
    """Stops the run safely, as `pitstop stop` does.

    In the process that trains it is obeyed at the next step boundary: the state
    is saved, the script ends with exit code 75, and the same command goes on
    there.  A script that does not train (yet), or a data worker, has its
    supervisor end the run.  Returns at once.  Outside of `pitstop run` it only
    warns.

    Args:
        reason: why, in one line; `pitstop why` shows it.
    """
    socket_path = os.environ.get(ENV_SOCKET)
    session = process_session.current()
    if session is not None:
        session.report(StopRequested(source="script", urgency="graceful", reason=reason))
        session.snapshots.lockstep.raise_stop()
    elif not socket_path:
        _warn("is not running under `pitstop run`")
    elif request(socket_path, ClientRequest("stop", source="script", reason=reason)) is None:
        _warn("has lost its supervisor")


def stopped() -> bool:
    """Whether this run has been stopped, and the script goes on after it.

    That is so with `--on-stop return` (and `on_stop="return"` in Python): the
    training is not at its end, its state is saved, and a `fit` trains nothing.
    """
    session = process_session.current()
    return session is not None and session.snapshots.stopped


def _warn(why: str) -> None:
    message = f"pitstop.request_stop() has no effect: this process {why}."
    warnings.warn(message, RuntimeWarning, stacklevel=3)


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

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in _WATCHED:
                before = signal.getsignal(number)
                if before in (signal.SIG_DFL, signal.default_int_handler):
                    self._before[number] = before
                    signal.signal(number, self._on_signal)
        return self

    def __exit__(self, *_: object) -> None:
        while self._before:
            signal.signal(*self._before.popitem())

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        received = signal.Signals(number)
        if os.getpid() != self._pid:
            # A forked data worker, which its pool ends in this way: it ends, the training does not.
            signal.signal(received, self._before[received])
            os.kill(os.getpid(), received)
            return
        if self._session.stop_requested() and received is signal.SIGINT:
            self.__exit__()
            raise KeyboardInterrupt
        self._session.stop_signal = received
        self._session.snapshots.lockstep.raise_stop()
        # The main thread may be in the middle of a message to the supervisor.
        event = StopRequested(source="signal", urgency="graceful", signal=received.name)
        threading.Thread(
            target=self._session.report, args=(event,), name="pitstop-stop", daemon=True
        ).start()
