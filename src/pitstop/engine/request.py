"""A request to the supervisor, from a process that need not train."""

from __future__ import annotations

from pitstop.errors import PeerFault
from pitstop.link.messages import MalformedMessage, Message, NoImage, Refusal
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


def reason_of(answer: Message) -> str:
    """Why the supervisor does not do what was asked for."""
    match answer:
        case Refusal(reason) | MalformedMessage(reason) | NoImage(_, reason):
            return reason
        case _:
            return f"it answered {answer.type}"
