"""`pitstop.request_stop` and `pitstop.stopped`: what a script has to do with stops."""

from __future__ import annotations

import os
import warnings

from pitstop.engine import process_session
from pitstop.engine.request import request
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
        session.lockstep.raise_stop()
    elif not socket_path:
        _warn("is not running under `pitstop run`")
    elif request(socket_path, ClientRequest("stop", source="script", reason=reason)) is None:
        _warn("has lost its supervisor")


def stopped() -> bool:
    """Whether this run has been stopped, and the script goes on behind it.

    That is so with `--on-stop return` (and `on_stop="return"` in Python): the
    training is not at its end, its state is saved, and a `fit` trains nothing.
    """
    session = process_session.current()
    return session is not None and session.stopped


def _warn(why: str) -> None:
    message = f"pitstop.request_stop() does nothing: this process {why}."
    warnings.warn(message, RuntimeWarning, stacklevel=3)
