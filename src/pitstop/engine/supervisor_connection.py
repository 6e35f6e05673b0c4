"""The trainer's connection to its supervisor."""

from __future__ import annotations

from pitstop.engine.fence import FENCE
from pitstop.errors import PeerClosed
from pitstop.events import Event, to_record
from pitstop.link.beacon import Beacon
from pitstop.link.messages import EventReport, Message
from pitstop.link.wire import Connection, Received


class SupervisorConnection:
    """Sends what nobody answers, and asks what is answered; silent when the supervisor is gone.

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
        """Whether the attempt ends, or nobody is there to save it."""
        return self.stop_requested() or self._connection is None or self._connection.is_closed()

    def close(self) -> None:
        """The process goes on without its run, which ends for it."""
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
