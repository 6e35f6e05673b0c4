"""A request to the supervisor, from a process that need not train."""

from __future__ import annotations

from pitstop.errors import PeerFault
from pitstop.link.messages import Message
from pitstop.link.wire import Connection


def request(socket_path: str, body: Message) -> Message | None:
    """What the supervisor that listens there answers; None where nobody does."""
    try:
        connection = Connection.connect(socket_path)
    except PeerFault:
        return None
    try:
        connection.send(body)
        return connection.receive().message
    except PeerFault:
        return None
    finally:
        connection.close()
