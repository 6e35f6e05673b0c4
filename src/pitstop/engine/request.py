"""A request to the supervisor, from a process that need not train."""

from __future__ import annotations

from pitstop.errors import PeerFault
from pitstop.link.messages import Message
from pitstop.link.wire import Connection


def request(socket_path: str, body: Message) -> bool:
    """Whether the supervisor that listens there took the request."""
    try:
        connection = Connection.connect(socket_path)
    except PeerFault:
        return False
    try:
        connection.send(body)
        connection.receive()
    except PeerFault:
        return False
    finally:
        connection.close()
    return True
