"""Signals that come before anything is supervised: nothing has begun, and nothing is lost."""

import signal
import sys
from types import FrameType

from pitstop.exit_codes import EXIT_STOPPED

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1)
_USUAL = (signal.SIG_DFL, signal.default_int_handler)


def catch_signals() -> None:
    """From now on, a signal that requests a stop ends this process, unless it is ignored."""
    for each in _ASKING:
        if signal.getsignal(each) in _USUAL:
            signal.signal(each, _leave)


def ignore_signals() -> None:
    """From now on, they have no effect: nothing is left to stop, and the exit code is known."""
    for each in (*_ASKING, signal.SIGUSR2):
        signal.signal(each, signal.SIG_IGN)


def _leave(number: int, frame: FrameType | None) -> None:
    del number, frame
    sys.stderr.write("pitstop: stopped before the script was started; run it again to start it.\n")
    raise SystemExit(EXIT_STOPPED)
