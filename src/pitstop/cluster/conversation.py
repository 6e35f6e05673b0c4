"""One authenticated conversation between two supervisors over TCP.

1. The leader sends `_GREETING` and a random number.
2. The member sends a random number of its own, and its proof over both.
3. The leader sends its proof.  From then on both send sealed frames, see `frames`.

Whoever does not prove that it knows the secret is told nothing; what it sends is not parsed.
"""

from __future__ import annotations

import asyncio
import hmac
import os

from pitstop.cluster import frames
from pitstop.cluster.frames import NONCE_BYTES, PROOF_BYTES, Sealer
from pitstop.link.messages import Message

HANDSHAKE_SECONDS = 5.0

_GREETING = b"pitstop cluster 1\n"


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
        """Waits for the next message.

        Raises `SealBroken` where what came was not written by the other side, or is out of order;
        `EOFError` or `OSError` where the other side or the network has closed the connection.
        """
        length = frames.length_of(await self._reader.readexactly(frames.HEAD.size))
        text = await self._reader.readexactly(length)
        return self._other.open(text, await self._reader.readexactly(PROOF_BYTES))

    def close(self) -> None:
        """Ends it; what was sent still goes out."""
        self._writer.close()


async def answer(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes
) -> Conversation:
    """The leader's end, once the member has proved itself, else `WrongSecret`.

    Raises `EOFError` or `OSError` where it has gone.
    """
    leader_nonce = os.urandom(NONCE_BYTES)
    writer.write(_GREETING + leader_nonce)
    member_nonce = await reader.readexactly(NONCE_BYTES)
    claim = await reader.readexactly(PROOF_BYTES)
    proof = frames.proof(secret, frames.MEMBER, leader_nonce, member_nonce)
    if not hmac.compare_digest(claim, proof):
        raise WrongSecret(
            "a process that does not know the secret of this cluster tried to join it"
        )
    writer.write(frames.proof(secret, frames.LEADER, leader_nonce, member_nonce))
    key = frames.handshake_key(secret, leader_nonce, member_nonce)
    return Conversation(reader, writer, Sealer(key, frames.LEADER), Sealer(key, frames.MEMBER))


async def call(host: str, port: int, secret: bytes) -> Conversation:
    """The member's end, once the leader has proved itself.

    Raises `WrongSecret` where it could not, or took this member for a stranger; `EOFError` or
    `OSError` where nobody listens there, or it has gone.
    """
    reader, writer = await asyncio.open_connection(host, port)
    try:
        return await _introduced(reader, writer, secret)
    except BaseException:
        writer.close()
        raise


async def _introduced(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, secret: bytes
) -> Conversation:
    if await reader.readexactly(len(_GREETING)) != _GREETING:
        raise WrongSecret("what listens there is no supervisor of this version")
    leader_nonce = await reader.readexactly(NONCE_BYTES)
    member_nonce = os.urandom(NONCE_BYTES)
    writer.write(member_nonce + frames.proof(secret, frames.MEMBER, leader_nonce, member_nonce))
    try:
        claim = await reader.readexactly(PROOF_BYTES)
    except EOFError:
        raise WrongSecret("the leader has another secret") from None
    proof = frames.proof(secret, frames.LEADER, leader_nonce, member_nonce)
    if not hmac.compare_digest(claim, proof):
        raise WrongSecret("what listens there does not know the secret of this cluster")
    key = frames.handshake_key(secret, leader_nonce, member_nonce)
    return Conversation(reader, writer, Sealer(key, frames.MEMBER), Sealer(key, frames.LEADER))
