"""The event loop of an attempt, and what its parts tell it: what happened, and what is asked of it.

A part is called when something can be read, when time has passed, or when an event was journaled.
It returns occurrences, in order; `attempt.supervision` says who handles each.  An `Event` is
journaled, a `Trigger` goes to the lifecycle, an `Instruction` comes out of it, a `Message` is
what the trainer has sent.
"""

import selectors
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Protocol, TypeAlias

from pitstop.events import Event, RoleTaken, StopRequested
from pitstop.link.messages import ArenaOffer, Hello, Message
from pitstop.link.wire import Connection
from pitstop.record import Frozen
from pitstop.supervisor.lifecycle.table import Instruction, Trigger


class Told(Frozen):
    """Base of the occurrences that only the loop gets."""


class StopAsked(Told):
    """Somebody asks for a stop; it is journaled if it still counts."""

    event: StopRequested


class StopAfterEpochAsked(Told):
    event: StopRequested


class RoleAsked(Told):
    """A process has a part in a cluster; it is journaled if the attempt is still under way."""

    event: RoleTaken
    cluster: Mapping[str, Any]  # all tasks, see `cluster.spec`; empty where they are not known


class StatusAsked(Told):
    """`of_all`: with a row of each task of the cluster, from its leader."""

    connection: Connection
    of_all: bool = False


class Asker(Protocol):
    """A client, or a member of the cluster that hands on what a client asks."""

    def tell(self, message: Message) -> None: ...


class CheckpointAsked(Told):
    """A client waits for a checkpoint, with this name if it is not empty."""

    connection: Asker
    name: str


class TrainingAsked(Told):
    """A process wants to train; the connection is the receiver's to close."""

    connection: Connection
    hello: Hello


class TrainerCameIn(Told):
    pid: int


class TrainerLeft(Told):
    """The process that trained has closed its connection."""


class ArenaReceived(Told):
    """The trainer's memory for snapshots; the descriptor is the receiver's to close."""

    offer: ArenaOffer
    fd: int


Occurrence: TypeAlias = Event | Trigger | Instruction | Message | Told

Reader = Callable[[], Iterable[Occurrence] | None]


class Readable(Protocol):
    def fileno(self) -> int: ...


class EventLoop:
    """A selector whose keys carry their readers."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()

    def watch(self, source: Readable, reader: Reader) -> None:
        self._selector.register(source, selectors.EVENT_READ, reader)

    def forget(self, source: Readable) -> None:
        """To be called before it is closed."""
        self._selector.unregister(source)

    def turn(self, timeout_seconds: float) -> Iterator[Occurrence]:
        """Waits until something can be read; the caller handles each before the next."""
        for key, _ in self._selector.select(timeout_seconds):
            # A handler of an earlier source may have made the loop forget this one.
            if self._selector.get_map().get(key.fd) is key:
                yield from key.data() or ()

    def close(self) -> None:
        self._selector.close()
