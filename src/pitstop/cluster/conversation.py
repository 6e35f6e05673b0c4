"""One authenticated conversation between two supervisors over TCP.

1. The leader sends `_GREETING` and a random number.
2. The member sends a random number of its own, and its proof over both.
3. The leader sends its proof.  From then on both send sealed frames, see `frames`.

Whoever does not prove that it knows the secret is told nothing; what it sends is not parsed.
"""

import asyncio
import hashlib
import hmac
import json
import os
import struct

from pitstop.link.messages import MalformedMessage, Message, message_in

HANDSHAKE_SECONDS = 5.0
NONCE_BYTES = 32
PROOF_BYTES = hashlib.sha256().digest_size
MOST_BYTES = 1 << 16
HEAD = struct.Struct("<I")

LEADER = b"leader"
MEMBER = b"member"
_GREETING = b"pitstop cluster 1\n"


class SealBroken(Exception):
    """The received bytes are not the next message of a member of this cluster."""


def proof(secret: bytes, side: bytes, leader_nonce: bytes, member_nonce: bytes) -> bytes:
    """The answer to these two random numbers, which only the secret gives."""
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
        text = json.dumps(message.to_body(), default=vars, separators=(",", ":")).encode()
        if len(text) > MOST_BYTES:
            raise ValueError(f"a message of {len(text)} bytes")
        return HEAD.pack(len(text)) + text + self._next(text)

    def open(self, text: bytes, seal: bytes) -> Message:
        """The next message of that side; `SealBroken` if its seal is wrong or it is malformed."""
        if not hmac.compare_digest(seal, self._next(text)):
            raise SealBroken("a frame is not signed with the secret of this cluster")
        message = message_in(text, fd_count=0)
        if isinstance(message, MalformedMessage):
            raise SealBroken(message.reason)
        return message

    def _next(self, text: bytes) -> bytes:
        number = struct.pack("<Q", self._count)
        self._count += 1
        return _mac(self._key, b"frame", self._side, number, text)


def length_of(head: bytes) -> int:
    """How many bytes of text follow; `SealBroken` if that is more than a message may have."""
    (length,) = HEAD.unpack(head)
    if length > MOST_BYTES:
        raise SealBroken(f"a frame of {length} bytes")
    return int(length)


def _mac(key: bytes, *parts: bytes) -> bytes:
    mac = hmac.new(key, digestmod=hashlib.sha256)
    for part in parts:
        mac.update(struct.pack("<I", len(part)) + part)
    return mac.digest()


class WrongSecret(Exception):
    """The other side does not know the secret of this cluster, or is no supervisor."""


class Conversation:
    """One end of it; `own` seals what this side sends, `other` opens what the other side sends."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, own: Sealer, other: Sealer
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._own = own
        self._other = other

    def send(self, message: Message) -> None:
        """Sends one message; one that the other side no longer takes is lost."""
        if not self._writer.is_closing():
            self._writer.write(self._own.frame(message))

    async def receive(self) -> Message:
        """Raises `SealBroken`; `EOFError` or `OSError` where the connection was closed."""
        length = length_of(await self._reader.readexactly(HEAD.size))
        text = await self._reader.readexactly(length)
        return self._other.open(text, await self._reader.readexactly(PROOF_BYTES))

    def close(self) -> None:
        self._writer.close()


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes
) -> Conversation:
    """The leader's end; `WrongSecret` where the member cannot prove itself.

    Raises `EOFError` or `OSError` where it has gone.
    """
    leader_nonce = os.urandom(NONCE_BYTES)
    writer.write(_GREETING + leader_nonce)
    member_nonce = await reader.readexactly(NONCE_BYTES)
    claim = await reader.readexactly(PROOF_BYTES)
    if not hmac.compare_digest(claim, proof(secret, MEMBER, leader_nonce, member_nonce)):
        raise WrongSecret(
            "a process that does not know the secret of this cluster tried to join it"
        )
    writer.write(proof(secret, LEADER, leader_nonce, member_nonce))
    key = handshake_key(secret, leader_nonce, member_nonce)
    return Conversation(reader, writer, Sealer(key, LEADER), Sealer(key, MEMBER))


async def call(host: str, port: int, secret: bytes) -> Conversation:
    """The member's end; `WrongSecret` where the leader cannot prove itself, or hangs up.

    Raises `EOFError` or `OSError` where nobody listens there, or it has gone.
    """
    reader, writer = await asyncio.open_connection(host, port)
    try:
        if await reader.readexactly(len(_GREETING)) != _GREETING:
            raise WrongSecret("the listener there is not a supervisor of this version")
        leader_nonce = await reader.readexactly(NONCE_BYTES)
        member_nonce = os.urandom(NONCE_BYTES)
        writer.write(member_nonce + proof(secret, MEMBER, leader_nonce, member_nonce))
        try:
            claim = await reader.readexactly(PROOF_BYTES)
        except EOFError:
            raise WrongSecret("the leader has a different secret") from None
        if not hmac.compare_digest(claim, proof(secret, LEADER, leader_nonce, member_nonce)):
            raise WrongSecret("the listener there does not know the secret of this cluster")
        key = handshake_key(secret, leader_nonce, member_nonce)
        return Conversation(reader, writer, Sealer(key, MEMBER), Sealer(key, LEADER))
    except BaseException:
        writer.close()
        raise
