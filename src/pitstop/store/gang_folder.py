"""The folder of several runs that were launched as one: its shape, and where each run lies."""

import json
import secrets
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Self

from pitstop.errors import RunFolderInvalid, RunFolderUnwritable
from pitstop.events import JsonValue
from pitstop.machine.regular_file import read_regular
from pitstop.masking import masked_words
from pitstop.record import Frozen, build
from pitstop.store.disk_fault import explained
from pitstop.store.filesystem import replace_file
from pitstop.store.format import GANG_KIND, check_format, format_members, parsed
from pitstop.store.run_folder import GANG_FILE, LOCK_FILE, check_unused

MEMBERS_DIR = "members"
MOST_OF_A_KIND = 1000


class Shape(Frozen):
    """How many members there are of each kind; the kinds are TensorFlow's, the leader's first."""

    chief: int = 0
    worker: int = 0
    ps: int = 0
    evaluator: int = 0

    @classmethod
    def read(cls, name: str, record: JsonValue) -> Self:
        shape = build(cls, name, record)
        if not all(0 <= each <= MOST_OF_A_KIND for each in asdict(shape).values()):
            raise ValueError("its shape is not a count of members")
        if not shape.chief + shape.worker:
            raise ValueError("its shape has no member that trains")
        return shape

    @property
    def tasks(self) -> tuple[tuple[str, int], ...]:
        """Kind and index of each member, the leader first."""
        return tuple((kind, i) for kind, count in asdict(self).items() for i in range(count))

    def __str__(self) -> str:
        counts = [(kind, count) for kind, count in asdict(self).items() if count]
        plurals = {"worker": "workers", "chief": "chiefs", "evaluator": "evaluators"}
        words = (f"{n} {kind if n == 1 else plurals.get(kind, kind)}" for kind, n in counts)
        return ", ".join(words)


class GangFolder(Frozen):
    path: Path
    gang_id: str  # random hex digits
    shape: Annotated[Shape, Shape.read]
    command: tuple[str, ...]
    created_seconds: float

    @property
    def lock(self) -> Path:
        """Held by the process that launched it, see `pitstop.store.lock`."""
        return self.path / LOCK_FILE

    @property
    def members(self) -> tuple[Path, ...]:
        """The run folder of each member, the leader's first; some may not have begun."""
        return tuple(member_dir(self.path, kind, index) for kind, index in self.shape.tasks)


def member_dir(path: Path, kind: str, index: int) -> Path:
    return path / MEMBERS_DIR / f"{kind}-{index}"


def task_name(member: Path) -> str:
    return member.name.replace("-", " ")


def is_gang(path: Path) -> bool:
    return (path / GANG_FILE).is_file()


def create(path: Path, shape: Shape, command: Sequence[str]) -> GangFolder:
    """Makes the folder; `RunFolderInvalid` where something else is there, `RunFolderUnwritable`."""
    words = tuple(masked_words(command))
    gang = GangFolder(path, secrets.token_hex(16), shape, words, time.time())
    members = {name: value for name, value in asdict(gang).items() if name != "path"}
    record = {**format_members(GANG_KIND), **members}
    with explained(f"The folder {path} cannot be written", RunFolderUnwritable):
        # An empty folder of members may be left by a crash.
        left = () if any((path / MEMBERS_DIR).glob("*")) else (MEMBERS_DIR,)
        check_unused(path, GANG_FILE, *left)
        (path / MEMBERS_DIR).mkdir(parents=True, exist_ok=True)
        replace_file(path / GANG_FILE, (json.dumps(record, indent=2) + "\n").encode())
    return gang


def open_gang(path: Path) -> GangFolder:
    """Raises `RunFolderInvalid` where its gang.json is unreadable, or `FormatTooNew`."""
    try:
        record = check_format(parsed(read_regular(path / GANG_FILE)), GANG_KIND)
        return build(GangFolder, "launch", record, path=path)
    except (OSError, ValueError) as error:
        raise RunFolderInvalid(
            f"{path / GANG_FILE} is not a record of a launch: {error}.",
            "Use another folder; each member is still usable as a separate run.",
        ) from error
