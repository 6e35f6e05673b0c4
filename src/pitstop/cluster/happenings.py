"""What is heard of the other members of a cluster."""

from __future__ import annotations

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
