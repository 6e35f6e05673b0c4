"""Threads that talk over the network, so that the supervisor's loop never waits for it."""

import asyncio
import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable
from contextlib import closing

from pitstop.cluster.conversation import (
    HANDSHAKE_SECONDS,
    Conversation,
    SealBroken,
    WrongSecret,
    answer,
    call,
)
from pitstop.cluster.messages import JoinRequest
from pitstop.cluster.spec import Task
from pitstop.link.messages import Message, Refusal
from pitstop.machine.addresses import is_loopback
from pitstop.record import Frozen

_MOST_STRANGERS = 64
"""Connections without a proof of the secret so far; more of them wait in the kernel's queue."""
_MOST_WAITING = 4096
"""In that queue: all tasks of a large job start at once."""
_MOST_TROUBLES = 50
_BIND_SECONDS = 30.0
_FLUSH_SECONDS = 0.5
_RETRY_SECONDS = 0.5
_FIRST_RETRY_SECONDS = 0.1  # of a member, to reach its leader
_LAST_RETRY_SECONDS = 0.5

Objection = Callable[[JoinRequest], str]
"""Why a member may not join, or empty.  Called in the network's thread; pure."""


class Heard(Frozen):
    """A message of a member, or of the leader; a `JoinRequest` is the first of a member."""

    task: Task
    message: Message


class Parted(Frozen):
    """The conversation with a task is over; without an `EndReport` before it, it was lost."""

    task: Task


class Trouble(Frozen):
    """Something to tell the user: a member was refused, or the leader cannot be reached."""

    reason: str


Happening = Heard | Parted | Trouble


class NetworkThread(ABC):
    """Receives messages into a queue, and sends others; the descriptor is readable for a new one.

    The conversations belong to the thread.  The queue is a deque, which both threads may use.
    """

    def __init__(self) -> None:
        self._heard: deque[Happening] = deque()
        self._told: set[Trouble] = set()
        self._conversations: dict[Task, Conversation] = {}
        self._readable, self._wake = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        self._begun = threading.Event()
        self._closing = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="pitstop-cluster", daemon=True)

    @abstractmethod
    async def _talk(self) -> None:
        """All that the thread does, until it is cancelled."""

    def fileno(self) -> int:
        """Readable when something was heard."""
        return self._readable

    def take(self) -> tuple[Happening, ...]:
        """What was heard since the last call."""
        with contextlib.suppress(BlockingIOError):
            os.read(self._readable, 4096)
        return tuple(self._heard.popleft() for _ in range(len(self._heard)))

    def send(self, task: Task, message: Message) -> None:
        """Does nothing while there is no conversation with the task."""
        self._call(lambda: self._send(task, message))

    def flush(self) -> None:
        """Waits until what was said before has gone out, for a moment at most."""
        gone = threading.Event()
        self._call(gone.set)
        gone.wait(_FLUSH_SECONDS)

    def start(self) -> None:
        self._thread.start()
        self._begun.wait()

    def close(self) -> None:
        """Ends all conversations, once what was said has gone out."""
        self._call(self._closing.set)
        self._thread.join()
        os.close(self._readable)
        os.close(self._wake)

    def _call(self, action: Callable[[], object]) -> None:
        # After the reads that are due: a write to a socket that its peer has closed would end the
        # connection, and with it what was not read yet.
        self._loop.call_soon_threadsafe(self._loop.call_soon, action)

    def _send(self, task: Task, message: Message) -> None:
        if conversation := self._conversations.get(task):
            conversation.send(message)

    def _tell(self, happening: Happening) -> None:
        """Called in the thread: puts something into the queue."""
        self._heard.append(happening)
        with contextlib.suppress(OSError):  # full: it is readable already
            os.write(self._wake, b"\0")

    def _tell_trouble(self, reason: str) -> None:
        """Each only once, and not all: strangers may try without end."""
        trouble = Trouble(reason)
        if trouble not in self._told and len(self._told) < _MOST_TROUBLES:
            self._told.add(trouble)
            self._tell(trouble)

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        talk = asyncio.create_task(self._talk())
        self._begun.set()
        # What goes on when this ends is cancelled by `asyncio.run`.
        await self._closing.wait()
        talk.cancel()


class LeaderServer(NetworkThread):
    """Conversations with all members that know the secret, and that `objection` lets join.

    At a loopback address it listens there alone.  Else it listens at all addresses of the machine:
    a name may be that of a forwarder.
    """

    def __init__(self, endpoint: tuple[str, int], secret: bytes, objection: Objection) -> None:
        super().__init__()
        self._endpoint = endpoint
        self._secret = secret
        self._objection = objection
        self._strangers = asyncio.Semaphore(_MOST_STRANGERS)

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
                return await asyncio.start_server(self._serve, host, port, backlog=_MOST_WAITING)
            except OSError as error:
                problem = error.strerror or str(error)
                await asyncio.sleep(_RETRY_SECONDS)
        self._tell_trouble(f"the leader cannot listen on port {port} ({problem})")
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
            self._tell_trouble(f"{problem} (from {peer[0] if peer else 'unknown'})")
        except (EOFError, OSError, TimeoutError, asyncio.CancelledError):
            # Cancelled: this side closes, and a task that ends so would be reported as an error.
            pass
        finally:
            writer.close()
            if task is not None:
                del self._conversations[task]
                self._tell(Parted(task))

    async def _admitted(self, conversation: Conversation) -> Task | None:
        message = await conversation.receive()
        if not isinstance(message, JoinRequest):
            raise SealBroken("a member did not identify itself")
        problem = self._objection(message)
        if not problem and Task.parse(message.task) in self._conversations:
            problem = f"another process is already {message.task}"
        if problem:
            conversation.send(Refusal(problem))
            conversation.close()
            self._tell_trouble(f"{message.task} on {message.host} was refused: {problem}")
            return None
        task = Task.parse(message.task)
        self._conversations[task] = conversation
        self._tell(Heard(task, message))
        return task


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

    async def _talk(self) -> None:
        wait_seconds = _FIRST_RETRY_SECONDS
        while True:
            try:
                if await self._once():
                    wait_seconds = _FIRST_RETRY_SECONDS
            except (WrongSecret, SealBroken) as problem:
                self._tell_here(str(problem))
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
                self._tell_here(f"the leader refused this member: {first.reason}")
                return False
            await self._converse(conversation, first)
        return True

    async def _converse(self, conversation: Conversation, first: Message) -> None:
        self._conversations[self._leader] = conversation
        try:
            self._tell(Heard(self._leader, first))
            while True:
                self._tell(Heard(self._leader, await conversation.receive()))
        except (EOFError, OSError):
            pass
        finally:
            del self._conversations[self._leader]
            self._tell(Parted(self._leader))

    def _tell_here(self, problem: str) -> None:
        self._tell_trouble(f"{problem} (at {self._endpoint[0]}:{self._endpoint[1]})")
