"""How a process that helps the supervisor begins: what it is told, and what it leaves alone."""

import json
import os
import signal
import socket
import sys
from typing import Any

from pitstop.link.wire import Connection

_NICENESS = 5  # the I/O priority follows from it, see ioprio_set(2)


def begun() -> tuple[Connection, dict[str, Any]]:
    """The connection to the supervisor, and what this process is told; ignores signals."""
    told: dict[str, Any] = json.loads(sys.argv[1])
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_IGN)
    os.nice(_NICENESS)
    return Connection(socket.socket(fileno=told["fd"])), told
