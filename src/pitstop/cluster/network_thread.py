"""A thread that talks over the network, so that the supervisor's loop never waits for it."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable

from pitstop.cluster.spec import Task
from pitstop.link.messages import Message
from pitstop.record import record


@record
class Heard:
    """A message of a member, or of the leader; a `JoinRequest` is the first of a member."""

    task: Task
    message: Message


@record
class Parted:
    """The conversation with a task is over; without a `EndReport` before it, it was lost."""

    task: Task


@record
class Trouble:
    """Somebody was refused, or the leader cannot be reached: worth a line."""

    reason: str


Happening = Heard | Parted | Trouble


class NetworkThread(ABC):
    """What was heard goes to a queue, which makes the descriptor readable; what is said goes back.

    The conversations belong to the thread.  The queue is a deque, which both threads may use.
    """

    def __init__(self) -> None:
        self._heard: deque[Happening] = deque()
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
        self._loop.call_soon_threadsafe(action)

    def _tell(self, happening: Happening) -> None:
        """Called in the thread: puts something into the queue."""
        self._heard.append(happening)
        with contextlib.suppress(OSError):  # full: it is readable already
            os.write(self._wake, b"\0")

    def _run(self) -> None:
        asyncio.run(self._live())

    async def _live(self) -> None:
        self._loop = asyncio.get_running_loop()
        talk = asyncio.create_task(self._talk())
        self._begun.set()
        # What goes on when this ends is cancelled by `asyncio.run`.
        await self._closing.wait()
        talk.cancel()
