"""Every message between the processes of a run: its members, and who says it to whom.

The supervisor listens on one Unix socket (mode 0600).  The first message of a client says
who it is: `Hello` of a process that trains, `ClientRequest` of the command line.  Persister and
uploader talk with the supervisor over a socket pair each.  On the wire a message is a JSON
object (see `link.wire`) with the members below and `type`, the name of its class in snake case.

The annotations say what a member may be; `link.grammar` checks them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, TypeAlias

Count: TypeAlias = int
"""Not negative."""
Name: TypeAlias = str
"""At most `beacon.MOST_NAME_BYTES`."""
FolderName: TypeAlias = str
"""A name inside of a folder, no path."""
Numbers: TypeAlias = dict[str, float]
Counts: TypeAlias = dict[str, int]
Record: TypeAlias = dict[str, Any]
"""An `events.Event` as `events.to_record` gives it."""
Allocators: TypeAlias = list[dict[str, Any]]
"""Fields of `flight.sample.AllocatorSample`."""

SOME = -1
"""Of open files: how many depends."""


@dataclass(frozen=True)
class Message:
    """Base of all messages: what it is called on the wire, and how many open files come with it."""

    type: ClassVar[str] = ""
    fds: ClassVar[int] = 0

    def __init_subclass__(cls, fds: int = 0) -> None:
        super().__init_subclass__()
        cls.type = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.fds = fds
        MESSAGES[cls.type] = cls

    def to_body(self) -> dict[str, Any]:
        """The JSON object that is sent."""
        return {"type": self.type, **{each.name: getattr(self, each.name) for each in fields(self)}}


MESSAGES: dict[str, type[Message]] = {}
"""All messages by their names on the wire."""


@dataclass(frozen=True)
class UnknownMessage(Message):
    """A message that this version does not know: nobody handles it."""

    name: str


@dataclass(frozen=True)
class MalformedMessage(Message):
    """What came in the place of a message, and what is wrong with it."""

    reason: str


# -- of the process that trains -----------------------------------------------------


@dataclass(frozen=True)
class Hello(Message):
    """To the supervisor: this process is going to train."""

    protocol: int
    pid: Count
    python: str = ""
    argv: Sequence[str] = ()


@dataclass(frozen=True)
class EventReport(Message):
    """To the supervisor, also from its helpers: an event for the journal."""

    event: Record


@dataclass(frozen=True)
class ArenaOffer(Message, fds=1):
    """To the supervisor, which tells the persister: the shared memory for snapshots.

    `backing` is "memory" or "file".
    """

    size_bytes: Count
    backing: str = "memory"


@dataclass(frozen=True)
class SnapshotReport(Message):
    """To the supervisor: a snapshot in memory is whole.

    Its `sequence` is larger than those before it; `durable`: it is to be written to disk at once.
    """

    sequence: Count
    step: Count
    epoch: Count
    reason: str
    durable: bool
    size_bytes: Count = 0
    blocked_seconds: float = 0.0
    copy_seconds: float = 0.0


@dataclass(frozen=True)
class VitalsReport(Message):
    """To the supervisor: what the flight recorder cannot see from outside.

    `log_folder`: where the script's TensorBoard callback writes; empty without one.
    """

    metrics: Numbers = field(default_factory=dict)
    learning_rate: float | None = None
    input_seconds: float | None = None
    step_seconds: float | None = None
    python_blocks: Count | None = None
    allocators: Allocators = field(default_factory=list)
    log_folder: str = ""


@dataclass(frozen=True)
class RestoreRequest(Message):
    """To the supervisor: asks for the image of a restore point."""

    checkpoint: FolderName


@dataclass(frozen=True)
class Welcome(Message, fds=1):
    """To the trainer, with the beacon: it may train.

    Attributes:
        settings: as `link.settings.Settings.to_json` gives them.
        lost_from_step: step that an earlier attempt had reached, -1 when unknown.
        points: the states to restore, in order: finished trainings, then the one to continue.
    """

    protocol: int
    run_dir: str
    attempt: Count
    settings: dict[str, Any]
    lost_from_step: int
    points: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Refusal(Message):
    """To a client: what it asked for is not done; to a trainer: it may not train here."""

    reason: str


# -- of the command line, and of a process that does not train --------------------------


@dataclass(frozen=True)
class ClientRequest(Message):
    """To the supervisor.

    Attributes:
        command: "status", "stop" or "checkpoint".
        name: of the checkpoint that is asked for, empty for none.
        source: "script" when a script asks for its own stop.
        reason: of a stop, in the user's words.
        now: the stop does not wait for a step boundary.
    """

    command: str
    name: Name = ""
    source: str = ""
    reason: str = ""
    now: bool = False


@dataclass(frozen=True)
class StatusAnswer(Message):
    """Its answer: a status, as `Status.to_json` gives it."""

    status: dict[str, Any]


@dataclass(frozen=True)
class CheckpointAnswer(Message):
    """Its answer: the checkpoint that was asked for is on disk."""

    checkpoint: FolderName
    step: Count


@dataclass(frozen=True)
class RoleReport(Message):
    """To the supervisor: this process has a part in a cluster, as `events.RoleTaken` says.

    `cluster` has all tasks, see `cluster.spec`; it is empty where they are not known.
    """

    role: str
    task: str = ""
    cluster: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class ReleaseRequest(Message):
    """To the supervisor: this process is to be told when the training is over for it.

    It is a server of a cluster, or trains and is not saved by Pitstop.
    """


@dataclass(frozen=True)
class ReleaseAnswer(Message):
    """Its answer: it ends, in order, with this exit code."""

    exit_code: Count


# -- between the supervisor and the persister -----------------------------------------


@dataclass(frozen=True)
class TrainerPid(Message):
    """To the persister: who trains."""

    pid: Count


@dataclass(frozen=True)
class Load(Message):
    """To the persister: verify and load a checkpoint; the newest good one without a name."""

    checkpoint: str


@dataclass(frozen=True)
class ImageAnswer(Message, fds=SOME):
    """To the supervisor, which tells the trainer: a checkpoint (see `snapshot.loading`)."""

    checkpoint: FolderName


@dataclass(frozen=True)
class NoImage(Message):
    """The answer in the place of an image."""

    checkpoint: str
    reason: str


@dataclass(frozen=True)
class Persist(Message):
    """To the persister: make the newest snapshot durable."""

    reason: str


@dataclass(frozen=True)
class Persisted(Message):
    """Its answer; sequence 0: there was nothing newer."""

    sequence: Count
    step: int
    seconds: float


@dataclass(frozen=True)
class PersistFailed(Message):
    """Its answer when it could not."""

    error: str


# -- between the supervisor and both helpers ------------------------------------------


@dataclass(frozen=True)
class Finish(Message):
    """To a helper: do what was asked for before, then end."""


@dataclass(frozen=True)
class Finished(Message):
    """Its answer, before it ends."""


# -- between the supervisor and the uploader of a mirror --------------------------------


@dataclass(frozen=True)
class Say(Message):
    """To the supervisor, before the run begins: a line for the user."""

    line: str


@dataclass(frozen=True)
class Opened(Message):
    """To the supervisor: the local folder is ready to be used."""


@dataclass(frozen=True)
class NotOpened(Message):
    """To the supervisor: it is not, and the uploader ends; `by_user`: the user must act."""

    message: str
    remedy: str
    by_user: bool


@dataclass(frozen=True)
class Begin(Message):
    """To the uploader: send what is there."""


@dataclass(frozen=True)
class Changed(Message):
    """To the uploader: there is a new checkpoint."""


@dataclass(frozen=True)
class Abandon(Message):
    """To the uploader: tell what is left, and end."""

    reason: str
