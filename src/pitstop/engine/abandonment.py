"""When everybody who watches over this process was killed at once.

A killed supervisor is survived by the persister, which asks the training to stop,
and a killed persister by the supervisor, which starts another.  When both are
gone, nobody can save or stop the training any more, and nothing keeps a
second run of the folder from starting beside it.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable

from pitstop.engine.fence import observing
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.wire import Connection

GRACE_SECONDS = 5.0
"""The persister sees its supervisor's end at once; it needs no more than this to say so."""


def watch(
    connection: Connection,
    beacon: Beacon,
    stops: Callable[[], bool] = lambda: True,
    wait: Callable[[float], None] = time.sleep,
) -> threading.Thread:
    """Looks for the supervisor's end, in a thread of its own.

    When nobody has asked for a stop some time after it, this process does so itself, where it
    `stops`: one that was not started by the supervisor goes on.  The last checkpoint stands.
    """
    # A descriptor of its own: the session may close the connection at any time.
    fd = os.dup(connection.fileno())

    @observing()
    def wait_for_the_end() -> None:
        poll = select.poll()
        poll.register(fd, select.POLLRDHUP)
        poll.poll()
        os.close(fd)
        wait(GRACE_SECONDS)
        if beacon.stop() == Stop.NONE:
            # A persister that was killed while it read a snapshot reads no more.
            beacon.pin(0)
            if stops():
                beacon.request_stop(Stop.GRACEFUL)

    thread = threading.Thread(target=wait_for_the_end, name="pitstop-watch", daemon=True)
    thread.start()
    return thread
