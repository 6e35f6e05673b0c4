"""The leader's end: listens for the supervisors of the other tasks."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections.abc import Callable

from pitstop.cluster.conversation import (
    HANDSHAKE_SECONDS,
    Conversation,
    SealBroken,
    WrongSecret,
    answer,
)
from pitstop.cluster.messages import JoinRequest
from pitstop.cluster.network_thread import Heard, NetworkThread, Parted, Trouble
from pitstop.cluster.spec import Task
from pitstop.link.messages import Message, Refusal

_MOST_STRANGERS = 64
"""That have not proved themselves yet; who comes after them waits in the kernel."""
_BIND_SECONDS = 30.0
_RETRY_SECONDS = 0.5

Objection = Callable[[JoinRequest], str]
"""Why a member may not join, or empty.  Called in the network's thread; pure."""


class LeaderServer(NetworkThread):
    """Conversations with all members that know the secret, and to whose joining nobody objects.

    At a loopback address nobody else can reach it; at any other it listens to all of the machine's,
    since a name may stand for a forwarder.
    """

    def __init__(self, endpoint: tuple[str, int], secret: bytes, objection: Objection) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._secret = secret
        self._objection = objection
        self._members: dict[Task, Conversation] = {}
        self._strangers = asyncio.Semaphore(_MOST_STRANGERS)

    def send(self, task: Task, message: Message) -> None:
        self._call(lambda: self._send(task, message))

    def _send(self, task: Task, message: Message) -> None:
        if conversation := self._members.get(task):
            conversation.send(message)

    async def _talk(self) -> None:
        host, port = self._endpoint
        server = await self._bound(host if is_loopback(host) else None, port)
        if server is not None:
            async with server:
                await server.serve_forever()

    async def _bound(self, host: str | None, port: int) -> asyncio.Server | None:
        """The server; an earlier attempt of the run may still hold the port for a while."""
        for _ in range(int(_BIND_SECONDS / _RETRY_SECONDS)):
            try:
                return await asyncio.start_server(self._serve, host, port)
            except OSError as error:
                problem = error.strerror or str(error)
                await asyncio.sleep(_RETRY_SECONDS)
        self._tell(Trouble(f"the leader cannot listen on port {port} ({problem})"))
        return None

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = None
        try:
            async with self._strangers, asyncio.timeout(HANDSHAKE_SECONDS):
                conversation = await answer(reader, writer, self._secret)
                task = await self._admitted(conversation)
            while task is not None:
                self._tell(Heard(task, await conversation.receive()))
        except (WrongSecret, SealBroken) as problem:
            peer = writer.get_extra_info("peername")
            self._tell(Trouble(f"{problem} (from {peer[0] if peer else 'unknown'})"))
        except (EOFError, OSError, TimeoutError, asyncio.CancelledError):
            # Cancelled: this side closes, and a task that ends so would be reported as an error.
            pass
        finally:
            writer.close()
            if task is not None:
                del self._members[task]
                self._tell(Parted(task))

    async def _admitted(self, conversation: Conversation) -> Task | None:
        message = await conversation.receive()
        if not isinstance(message, JoinRequest):
            raise SealBroken("a member did not identify itself")
        problem = self._objection(message)
        if not problem and Task.parse(message.task) in self._members:
            problem = f"another process is already {message.task}"
        if problem:
            conversation.send(Refusal(problem))
            conversation.close()
            self._tell(Trouble(f"{message.task} on {message.host} was refused: {problem}"))
            return None
        task = Task.parse(message.task)
        self._members[task] = conversation
        self._tell(Heard(task, message))
        return task


def is_loopback(host: str) -> bool:
    """Whether only processes of this machine can use the address."""
    if host == "localhost":
        return True
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return False
