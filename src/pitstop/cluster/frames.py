"""Sealed frames: a length, a JSON text, and a proof that a member of this cluster wrote it.

A frame is a 4-byte little-endian length, the text, and 32 bytes of HMAC-SHA256 over the direction,
the number of the frame in this direction, and the text.  A frame that is changed, repeated, left
out or sent back does not fit.  The key is another one in each conversation, see `handshake_key`.

Source of the construction: RFC 2104 (HMAC); challenge and response as in RFC 2195, for both sides.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import struct

from pitstop.link.grammar import message_in
from pitstop.link.messages import MalformedMessage, Message

NONCE_BYTES = 32
PROOF_BYTES = hashlib.sha256().digest_size
MOST_BYTES = 1 << 16
HEAD = struct.Struct("<I")

LEADER = b"leader"
MEMBER = b"member"


class SealBroken(Exception):
    """What came is not what a member of this cluster wrote next."""


def proof(secret: bytes, side: bytes, leader_nonce: bytes, member_nonce: bytes) -> bytes:
    """What only somebody who knows the secret can answer to these two random numbers."""
    return _mac(secret, b"proof", side, leader_nonce, member_nonce)


def handshake_key(secret: bytes, leader_nonce: bytes, member_nonce: bytes) -> bytes:
    """The key of one conversation, 32 bytes."""
    return _mac(secret, b"key", leader_nonce, member_nonce)


class Sealer:
    """Writes, or opens, the frames of one direction; `side` writes them, `LEADER` or `MEMBER`."""

    def __init__(self, key: bytes, side: bytes) -> None:
        self._key = key
        self._side = side
        self._count = 0

    def frame(self, message: Message) -> bytes:
        """The bytes of the next frame; `ValueError` where the message is too large."""
        text = json.dumps(message.to_body(), separators=(",", ":")).encode()
        if len(text) > MOST_BYTES:
            raise ValueError(f"a message of {len(text)} bytes")
        return HEAD.pack(len(text)) + text + self._next(text)

    def open(self, text: bytes, seal: bytes) -> Message:
        """The message of the next frame of that side.

        Raises `SealBroken` where it is not the next one, or no message of this version.
        """
        if not hmac.compare_digest(seal, self._next(text)):
            raise SealBroken("a frame does not carry the seal of this cluster")
        message = message_in(text, fd_count=0)
        if isinstance(message, MalformedMessage):
            raise SealBroken(message.reason)
        return message

    def _next(self, text: bytes) -> bytes:
        number = struct.pack("<Q", self._count)
        self._count += 1
        return _mac(self._key, b"frame", self._side, number, text)


def length_of(head: bytes) -> int:
    """How many bytes of text follow; `SealBroken` where a message has less."""
    (length,) = HEAD.unpack(head)
    if length > MOST_BYTES:
        raise SealBroken(f"a frame of {length} bytes")
    return int(length)


def _mac(key: bytes, *parts: bytes) -> bytes:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(struct.pack("<I", len(part)) + part)
    return mac.digest()
