"""The trainer's connection to its supervisor; and what happens when the supervisor is gone."""

import os
import select
import threading
import time
from collections.abc import Callable

from pitstop.engine.connection import stacks
from pitstop.engine.fence import FENCE, observing
from pitstop.errors import PeerClosed
from pitstop.events import Event, to_record
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.messages import EventReport, Message
from pitstop.link.wire import Connection, Received

LOOK_MILLISECONDS = 500
"""Between two looks whether the supervisor asks for the stacks."""
GRACE_SECONDS = 5.0
"""The persister sees its supervisor's end at once; it needs no more than this to say so."""


def watch(
    connection: Connection,
    beacon: Beacon,
    stops: Callable[[], bool] = lambda: True,
    wait: Callable[[float], None] = time.sleep,
) -> threading.Thread:
    """Tells the stacks when asked; if the supervisor ends, asks for a stop unless others do."""
    # A descriptor of its own: the session may close the connection at any time.
    fd = os.dup(connection.fileno())

    @observing()
    def wait_for_the_end() -> None:
        poll = select.poll()
        poll.register(fd, select.POLLRDHUP)
        told = beacon.stack_requests()
        while not poll.poll(LOOK_MILLISECONDS):
            if beacon.stack_requests() != told:
                told = beacon.stack_requests()
                stacks.tell()
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


class SupervisorConnection:
    """Sends messages, and requests that are answered; silent when the supervisor is gone.

    Any thread may send: the connection has a lock.
    """

    def __init__(self, connection: Connection, beacon: Beacon) -> None:
        self.beacon = beacon
        self._connection: Connection | None = connection

    @property
    def is_there(self) -> bool:
        return self._connection is not None

    def stop_requested(self) -> bool:
        return self.beacon.stop() != 0

    @property
    def is_over(self) -> bool:
        return self.stop_requested() or self._connection is None or self._connection.is_closed()

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.shut_down()
            connection.close()

    def report(self, event: Event) -> None:
        """Sends an event to the journal; silent when the supervisor is gone."""
        self.send(EventReport(to_record(event)))

    def ask(self, message: Message) -> Received:
        """Sends a message and waits for its answer; `PeerClosed` where the supervisor is gone."""
        if self._connection is None:
            raise PeerClosed("The supervisor of this run has ended.")
        self._connection.send(message)
        return self._connection.receive()

    def send(self, message: Message, *fds: int) -> None:
        connection = self._connection
        if connection is None:
            return
        try:
            connection.send(message, fds)
        except PeerClosed:
            # The persister notices too, and asks this process to stop.
            self._connection = None
            connection.close()
        except (TypeError, ValueError) as error:
            FENCE.note(f"sending of {message.type}", error)
