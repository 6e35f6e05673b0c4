"""What is heard of the other members of a cluster."""

from __future__ import annotations

from dataclasses import dataclass

from pitstop.cluster.spec import Task
from pitstop.link.messages import Message


@dataclass(frozen=True)
class Heard:
    """A message of a member, or of the leader; a `JoinRequest` is the first of a member."""

    task: Task
    message: Message


@dataclass(frozen=True)
class Parted:
    """The conversation with a task is over; without a `EndReport` before it, it was lost."""

    task: Task


@dataclass(frozen=True)
class Trouble:
    """Somebody was refused, or the leader cannot be reached: worth a line."""

    reason: str


Happening = Heard | Parted | Trouble
