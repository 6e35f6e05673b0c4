"""A member's end: calls the supervisor of the leader, again and again until it is there."""

from __future__ import annotations

import asyncio
from contextlib import closing

from pitstop.cluster.conversation import (
    HANDSHAKE_SECONDS,
    Conversation,
    SealBroken,
    WrongSecret,
    call,
)
from pitstop.cluster.messages import JoinRequest
from pitstop.cluster.network_thread import Heard, NetworkThread, Parted, Trouble
from pitstop.cluster.spec import Task
from pitstop.link.messages import Message, Refusal

_FIRST_RETRY_SECONDS = 0.1
_LAST_RETRY_SECONDS = 2.0


class MemberClient(NetworkThread):
    """The conversation with the leader, whose supervisor listens at `endpoint`: host and port."""

    def __init__(
        self, leader: Task, endpoint: tuple[str, int], secret: bytes, introduction: JoinRequest
    ) -> None:
        super().__init__()
        self._leader = leader
        self._endpoint = endpoint
        self._secret = secret
        self._introduction = introduction
        self._conversation: Conversation | None = None
        self._told = ""

    def send(self, message: Message) -> None:
        self._call(lambda: self._send(message))

    def _send(self, message: Message) -> None:
        if self._conversation is not None:
            self._conversation.send(message)

    async def _talk(self) -> None:
        wait_seconds = _FIRST_RETRY_SECONDS
        while True:
            try:
                if await self._once():
                    wait_seconds = _FIRST_RETRY_SECONDS
            except (WrongSecret, SealBroken) as problem:
                self._tell_once(str(problem))
            except (EOFError, OSError, TimeoutError):
                pass
            await asyncio.sleep(wait_seconds)
            wait_seconds = min(2 * wait_seconds, _LAST_RETRY_SECONDS)

    async def _once(self) -> bool:
        """One conversation, to its end; whether the leader took this member."""
        async with asyncio.timeout(HANDSHAKE_SECONDS):
            conversation = await call(*self._endpoint, self._secret)
        with closing(conversation):
            conversation.send(self._introduction)
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                first = await conversation.receive()
            if isinstance(first, Refusal):
                self._tell_once(f"the leader refused this member: {first.reason}")
                return False
            await self._converse(conversation, first)
        return True

    async def _converse(self, conversation: Conversation, first: Message) -> None:
        self._conversation = conversation
        try:
            self._tell(Heard(self._leader, first))
            while True:
                self._tell(Heard(self._leader, await conversation.receive()))
        except (EOFError, OSError):
            pass
        finally:
            self._conversation = None
            self._tell(Parted(self._leader))

    def _tell_once(self, problem: str) -> None:
        if problem != self._told:
            self._told = problem
            self._tell(Trouble(f"{problem} (at {self._endpoint[0]}:{self._endpoint[1]})"))
