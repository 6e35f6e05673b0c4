"""Every message between the processes of a run: its members, and who says it to whom.

The supervisor listens on one Unix socket (mode 0600).  The first message of a client says who it
is: `Hello` of a process that trains, `ClientRequest` of the command line.  Persister and uploader
have a socket pair each.  On the wire a message is a JSON object (see `link.wire`) with the members
below and `type`, the name of its class in snake case.
"""

import json
import re
from collections.abc import Sequence
from dataclasses import field, fields
from typing import Annotated, Any, ClassVar, TypeAlias

from pitstop.link.beacon import MOST_NAME_BYTES
from pitstop.link.settings import Settings
from pitstop.record import Frozen, build, fitting

# not negative, and no more than a word of the beacon holds
Count: TypeAlias = Annotated[
    int, fitting(lambda value: type(value) is int and 0 <= value < 1 << 63)
]
Name: TypeAlias = Annotated[
    str, fitting(lambda value: isinstance(value, str) and len(value.encode()) <= MOST_NAME_BYTES)
]
# a name inside of a folder, no path
FolderName: TypeAlias = Annotated[
    str,
    fitting(
        lambda value: (
            isinstance(value, str) and not {"/", "\0"} & {*value} and value not in (".", "..")
        )
    ),
]

SOME = -1  # of open files: how many depends


class Message(Frozen):
    """Base of all messages: what it is called on the wire, and how many open files come with it.

    `sent`: it is a message, and no base of several.
    """

    type: ClassVar[str] = ""
    fds: ClassVar[int] = 0

    def __init_subclass__(cls, fds: int = 0, sent: bool = True) -> None:
        super().__init_subclass__()
        cls.type = re.sub(r"(?<!^)(?=[A-Z])", "_", cls.__name__).lower()
        cls.fds = fds
        if sent:
            MESSAGES[cls.type] = cls

    def to_body(self) -> dict[str, Any]:
        return {"type": self.type, **{each.name: getattr(self, each.name) for each in fields(self)}}


MESSAGES: dict[str, type[Message]] = {}


class UnknownMessage(Message):
    """A message that this version does not know; it is ignored."""

    name: str


class MalformedMessage(Message):
    """Something that is not a valid message, and what is wrong with it."""

    reason: str


# -- of the process that trains -----------------------------------------------------


class Hello(Message):
    """To the supervisor: this process is going to train."""

    protocol: int
    pid: Count
    python: str = ""
    argv: Sequence[str] = ()


class EventReport(Message):
    """To the supervisor, also from its helpers: `events.to_record` of an event for the journal."""

    event: dict[str, Any]


class ArenaOffer(Message, fds=1):
    """To the supervisor, which tells the persister: the shared memory for snapshots."""

    size_bytes: Count
    backing: str = "memory"  # or "file"


class SnapshotReport(Message):
    """To the supervisor: a snapshot in memory is complete."""

    sequence: Count  # larger than before
    step: Count
    epoch: Count
    reason: str
    durable: bool  # write it to disk now


class AllocatorSample(Frozen):
    """What TensorFlow's allocator has taken on one device, such as "GPU:0"."""

    device: str
    current_bytes: Count
    peak_bytes: Count


class VitalsReport(Message):
    """To the supervisor: what the flight recorder cannot see from outside."""

    metrics: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    input_seconds: float | None = None
    step_seconds: float | None = None
    python_blocks: Count | None = None
    allocators: list[AllocatorSample] = field(default_factory=list)
    log_folder: str = ""  # where the script's TensorBoard callback writes; empty without one


class RestoreRequest(Message):
    """To the supervisor: asks for the image of a restore point."""

    checkpoint: FolderName


class Welcome(Message, fds=1):
    """To the trainer, with the beacon: it may train."""

    protocol: int
    run_dir: str
    attempt: Count
    settings: Settings
    lost_from_step: int  # step that an earlier attempt had reached, -1 when unknown
    points: Sequence[dict[str, Any]]  # states to restore, in order; the last one is continued
    gang: str = ""  # of the members that train together; empty for none
    doubt: str = ""  # why the gang does not go on exactly; empty where it does
    refusal: str = ""  # why it may not go on; empty where it may


class Refusal(Message):
    """To a client: what it asked for is not done; to a trainer: it may not train here."""

    reason: str


# -- of the command line, and of a process that does not train --------------------------


class ClientRequest(Message):
    """To the supervisor."""

    command: str  # "status", "stop", "stop_after_epoch" or "checkpoint"
    name: Name = ""  # of the checkpoint that is asked for, empty for none
    source: str = ""  # "script" when a script asks for its own stop
    reason: str = ""  # of a stop, in the user's words
    now: bool = False  # the stop does not wait for a step boundary
    of_all: bool = False  # the status is to have a row of each task of the cluster


class StatusAnswer(Message):
    """Its answer: a status, as `Status.to_json` gives it."""

    status: dict[str, Any]


class CheckpointAnswer(Message):
    """Its answer: the checkpoint that was asked for is on disk."""

    checkpoint: FolderName
    step: Count
    by: str = ""  # the task that saved it, if another one did


class RoleReport(Message):
    """To the supervisor: this process has a part in a cluster, as `events.RoleTaken` says."""

    role: str
    task: str = ""
    cluster: dict[str, Any] = field(default_factory=dict)  # all tasks, see `cluster.spec`; or empty


class ReleaseRequest(Message):
    """To the supervisor, of a server or unsaved training: is the training over for it?"""

    waits: bool = True  # until it is over


class ReleaseAnswer(Message):
    """Its answer: it ends, in order, with this exit code."""

    exit_code: Count


# -- between the supervisor and the persister -----------------------------------------


class TrainerPid(Message):
    """To the persister: the process that trains."""

    pid: Count


class Load(Message):
    """To the persister: verify and load a checkpoint; the newest good one without a name."""

    checkpoint: str


class ImageAnswer(Message, fds=SOME):
    """To the supervisor, which tells the trainer: a checkpoint (see `snapshot.loading`)."""

    checkpoint: FolderName


class NoImage(Message):
    """The answer if there is no image."""

    checkpoint: str
    reason: str


class Persist(Message):
    """To the persister: make the newest snapshot durable."""

    reason: str


class Keep(Message):
    """To the persister: this checkpoint stays until another one is named; empty for none."""

    checkpoint: str


class Persisted(Message):
    """Its answer; sequence 0: there was nothing newer."""

    sequence: Count
    seconds: float


class PersistFailed(Message):
    """Its answer when it could not."""

    error: str


# -- between the supervisor and both helpers ------------------------------------------


class Finish(Message):
    """To a helper: do what was asked for before, then end."""


class Finished(Message):
    """Its answer, before it ends."""


# -- between the supervisor and the uploader of a mirror --------------------------------


class Say(Message):
    """To the supervisor, before the run begins: a line for the user."""

    line: str


class Opened(Message):
    """To the supervisor: the local folder is ready to be used."""


class NotOpened(Message):
    """To the supervisor: it is not, and the uploader ends; `by_user`: the user must act."""

    message: str
    remedy: str
    by_user: bool


class Changed(Message):
    """To the uploader: the local folder is to be used, and there may be something new in it."""


class Abandon(Message):
    """To the uploader: tell what is left, and end."""

    reason: str


def message_in(text: bytes | bytearray, fd_count: int) -> Message:
    """The message in a JSON text; what is no message is a `MalformedMessage`."""
    try:
        body = json.loads(text)
        if b"\\ud" in text.lower():
            # Half a character, such as of a file's name that is no UTF-8: nothing could write it.
            body = json.loads(json.dumps(body, ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError) as problem:
        return MalformedMessage(f"a message is not JSON: {problem}")
    return message_from(body, fd_count)


def message_from(body: Any, fd_count: int) -> Message:
    """The message of a JSON value, or an `UnknownMessage` or `MalformedMessage`."""
    type_ = body.get("type") if isinstance(body, dict) else None
    if not isinstance(type_, str):
        return MalformedMessage("a message is not an object with a type")
    cls = MESSAGES.get(type_)
    if cls is None:
        return UnknownMessage(type_)
    if cls.fds not in (fd_count, SOME):
        return MalformedMessage(f"{type_} has {fd_count} descriptors instead of {cls.fds}")
    try:
        return build(cls, type_, body)
    except ValueError as problem:
        return MalformedMessage(f"a message is not valid: {problem}")
