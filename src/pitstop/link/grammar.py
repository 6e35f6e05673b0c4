"""From what came over a socket to a message.  Pure.

Every process of the user may connect, and its first message may be anything.  What fits is safe
to be handled: its members have the types and the sizes, and the message the number of open
files, that its class promises.
"""

from __future__ import annotations

import json
from typing import Any

from pitstop.link.messages import MESSAGES, SOME, MalformedMessage, Message, UnknownMessage
from pitstop.record import build


def message_in(text: bytes | bytearray, fd_count: int) -> Message:
    """The message in a JSON text; what is no message is a `MalformedMessage`."""
    try:
        body = json.loads(text)
        if b"\\ud" in text.lower():
            # Half a character, such as of a file's name that is no UTF-8: nothing could write it.
            body = json.loads(json.dumps(body, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as problem:
        return MalformedMessage(f"a message is no JSON: {problem}")
    return message_from(body, fd_count)


def message_from(body: Any, fd_count: int) -> Message:
    """The message that a JSON value is; members that this version does not know are dropped.

    `UnknownMessage` for a type that this version does not know, `MalformedMessage` for what does
    not fit.
    """
    type_ = body.get("type") if isinstance(body, dict) else None
    if not isinstance(type_, str):
        return MalformedMessage("a message is no object with a type")
    cls = MESSAGES.get(type_)
    if cls is None:
        return UnknownMessage(type_)
    if cls.fds not in (fd_count, SOME):
        return MalformedMessage(f"{type_} comes with {fd_count} descriptors, not {cls.fds}")
    try:
        return build(cls, type_, body)
    except ValueError as problem:
        return MalformedMessage(f"a message does not fit: {problem}")
