"""What the parts of an attempt tell its loop: what happened, and what is asked of it.

A part is called when something can be read, when time has passed, or when an event was journaled.
It returns occurrences, in order; `attempt.supervision` says who handles each.  An `Event` is
journaled, a `Trigger` goes to the lifecycle, an `Instruction` comes out of it, a `Message` is
what the trainer has sent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from pitstop.events import Event, RoleTaken, StopRequested
from pitstop.link.messages import ArenaOffer, Hello, Message
from pitstop.link.wire import Connection
from pitstop.record import record
from pitstop.supervisor.lifecycle.table import Instruction, Trigger


class Told:
    """Base of what only the loop is told."""


@record
class StopAsked(Told):
    """Somebody asks for a stop; it is journaled if it still counts."""

    event: StopRequested


@record
class StopAfterEpochAsked(Told):
    """Somebody asks for a stop when the epoch under way has ended."""

    event: StopRequested


@record
class RoleAsked(Told):
    """A process has a part in a cluster; it is journaled if the attempt is still under way.

    `cluster` has all tasks, see `cluster.spec`; it is empty where they are not known.
    """

    event: RoleTaken
    cluster: Mapping[str, Any]


@record
class StatusAsked(Told):
    """A client waits for the status."""

    connection: Connection


@record
class CheckpointAsked(Told):
    """A client waits for a checkpoint, with this name if it is not empty."""

    connection: Connection
    name: str


@record
class TrainingAsked(Told):
    """A process wants to train; the connection is the receiver's to close."""

    connection: Connection
    hello: Hello


@record
class TrainerCameIn(Told):
    """The process with this id trains from now on."""

    pid: int


@record
class TrainerLeft(Told):
    """The process that trained has closed its connection."""


@record
class ArenaReceived(Told):
    """The trainer's memory for snapshots; the descriptor is the receiver's to close."""

    offer: ArenaOffer
    fd: int


Occurrence: TypeAlias = Event | Trigger | Instruction | Message | Told
