"""The folder of one run: where everything lies, and whether it is one at all."""

import contextlib
import json
import secrets
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from pitstop.errors import RunFolderInvalid, RunFolderUnwritable, RunNotFound
from pitstop.machine.regular_file import NoRegularFile, read_regular
from pitstop.masking import masked_words
from pitstop.record import Frozen, build
from pitstop.store.disk_fault import explain, explained
from pitstop.store.filesystem import REAL_FILESYSTEM, replace_file
from pitstop.store.format import RUN_KIND, check_format, format_members, parsed
from pitstop.store.names import first_free, numbered_names

RUN_FILE = "run.json"
JOURNAL_FILE = "journal.jsonl"
LOCK_FILE = "lock"
STOP_FILE = "stop"
CHECKPOINTS_DIR = "checkpoints"
ATTEMPTS_DIR = "attempts"
OUTPUT_FILE = "output.log"
GANG_FILE = "gang.json"
"""Of a folder that holds several runs that were launched as one, see `gang_folder`."""
FOUND_FILE = "found.jsonl"
"""Of an attempt: what was found out about it afterwards, in the format of the journal."""

FIND_DEPTH = 3  # folders below its root that `find_runs` looks into
_GANG_DEPTH = 2  # the same below a gang's folder, wherever that lies

_ELSEWHERE = "Move the folder away, or use another one with --run-dir."
_TENSORFLOW_FILES = ("checkpoint", "saved_model.pb", "keras_metadata.pb")


class RunIdentity(Frozen):
    run_id: str  # random hex digits
    command: tuple[str, ...]  # that created the run, with secrets masked
    cwd: str  # absolute
    created_seconds: float  # since the epoch
    entropy: str  # hex digits; unseeded random streams begin with it


def encode_identity(identity: RunIdentity) -> bytes:
    record = {**format_members(RUN_KIND), **asdict(identity)}
    return (json.dumps(record, indent=2) + "\n").encode()


def decode_identity(data: bytes) -> RunIdentity:
    """Raises `ValueError` where the content is damaged or not Pitstop's, or `FormatTooNew`."""
    members = check_format(parsed(data), RUN_KIND)
    return build(RunIdentity, "run", {"entropy": members.get("run_id"), **members})


class RunFolder(Frozen):
    path: Path
    identity: RunIdentity

    @property
    def journal(self) -> Path:
        return self.path / JOURNAL_FILE

    @property
    def lock(self) -> Path:
        return self.path / LOCK_FILE

    @property
    def checkpoints(self) -> Path:
        return self.path / CHECKPOINTS_DIR

    def attempts(self) -> list[int]:
        """The numbers of all attempts that have a folder, in order."""
        with contextlib.suppress(FileNotFoundError):
            names = [path.name for path in (self.path / ATTEMPTS_DIR).iterdir()]
            return sorted(int(name) for name in names if name.isdecimal())
        return []

    def attempt_dir(self, attempt: int) -> Path:
        return self.path / ATTEMPTS_DIR / str(attempt)

    def output_log(self, attempt: int) -> Path:
        return self.attempt_dir(attempt) / OUTPUT_FILE

    def next_attempt(self) -> int:
        """Makes the folder of a new attempt, or `RunFolderUnwritable`; its number, from 1."""
        with _writing(self.path):
            attempt = 1 + max(self.attempts(), default=0)
            self.attempt_dir(attempt).mkdir()
            # A number that the journal knows must not be given again.
            REAL_FILESYSTEM.sync_dir(self.path / ATTEMPTS_DIR)
        return attempt


def archive(path: Path) -> Path:
    # A relative path like "." has no name of its own to number.
    path = path.resolve()
    with _writing(path):
        target = first_free(path.parent, numbered_names(path.name, first=1))
        path.rename(target)
        REAL_FILESYSTEM.sync_dir(target.parent)
    return target


def open_or_create(path: Path, command: Sequence[str], cwd: Path, entropy: str = "") -> RunFolder:
    """The run at `path`, made when there is none; an existing one keeps its identity.

    Raises `RunFolderInvalid` where something else is there, `FormatTooNew`, or
    `RunFolderUnwritable`.
    """
    with _writing(path):
        if not (path / RUN_FILE).exists():
            check_unused(path, RUN_FILE)
            _make_folders(path)
            own_id, begins_with = secrets.token_hex(16), entropy or secrets.token_hex(16)
            words, begun_in = tuple(masked_words(command)), str(cwd.absolute())
            identity = RunIdentity(own_id, words, begun_in, time.time(), begins_with)
            replace_file(path / RUN_FILE, encode_identity(identity))
        (path / CHECKPOINTS_DIR).mkdir(exist_ok=True)
        (path / ATTEMPTS_DIR).mkdir(exist_ok=True)
        REAL_FILESYSTEM.sync_dir(path)
        for folder in (path, path / CHECKPOINTS_DIR, path / ATTEMPTS_DIR):
            with tempfile.TemporaryFile(dir=folder, prefix=f".{RUN_FILE}."):
                pass
    return open_existing(path)


def open_existing(path: Path) -> RunFolder:
    """Raises `RunNotFound`, `RunFolderInvalid` where its run.json is damaged, or `FormatTooNew`."""
    try:
        identity = decode_identity(read_regular(path / RUN_FILE))
    except (FileNotFoundError, NotADirectoryError):
        if (path / GANG_FILE).exists():
            members = ", ".join(str(each) for each in find_runs(path))
            raise RunNotFound(
                f"{path} contains the runs of several members.", f"Choose one of {members}."
            ) from None
        raise RunNotFound(f"There is no run at {path}.", "List runs with `pitstop ls`.") from None
    except NoRegularFile:
        raise RunFolderInvalid(f"{path / RUN_FILE} is not a regular file.", _ELSEWHERE) from None
    except OSError as error:
        fault = explain(error)
        raise RunFolderInvalid(
            f"{path / RUN_FILE} cannot be read: {fault.cause}.", fault.remedy
        ) from error
    except ValueError as error:
        raise RunFolderInvalid(f"{path / RUN_FILE} is not valid: {error}.", _ELSEWHERE) from error
    return RunFolder(path, identity)


def find_runs(root: Path) -> list[Path]:
    """All runs at and below `root`, by name; hidden folders and links to folders are passed by."""
    return sorted(_walk(root, FIND_DEPTH))


def _walk(path: Path, depth: int) -> Iterator[Path]:
    with contextlib.suppress(PermissionError, FileNotFoundError, NotADirectoryError):
        if (path / RUN_FILE).is_file():
            yield path
            return
        if (path / GANG_FILE).is_file():
            depth = _GANG_DEPTH
        for child in path.iterdir() if depth else ():
            if child.is_dir() and not child.is_symlink() and not child.name.startswith("."):
                yield from _walk(child, depth - 1)


def check_unused(path: Path, record_file: str, *left: str) -> None:
    """`RunFolderInvalid` unless a run, or a launch, can be begun in a folder, which may not exist.

    A crash may have left the lock, what `left` names, and the hidden beginning of the record.
    """
    if path.exists() and not path.is_dir():
        raise RunFolderInvalid(f"{path} is a file.", "Give a folder with --run-dir.")
    names = [each.name for each in path.iterdir()] if path.exists() else []
    begun = f".{record_file}."
    others = [
        each for each in names if each not in (LOCK_FILE, *left) and not each.startswith(begun)
    ]
    if others:
        kind = "run" if record_file == RUN_FILE else "launch"
        held = _what_it_holds(others)
        raise RunFolderInvalid(
            f"{path} is not a Pitstop {kind}: it contains {held} but no {record_file}.",
            "Give an empty or new folder with --run-dir.",
        )


def _make_folders(path: Path) -> None:
    missing = [each for each in (path, *path.parents) if not each.exists()]
    # Through a link whose target was put aside, too.
    path.resolve().mkdir(parents=True, exist_ok=True)
    for each in missing:
        # One that may be written and not read cannot be synced either.
        with contextlib.suppress(PermissionError):
            REAL_FILESYSTEM.sync_dir(each.parent)


def _what_it_holds(names: Sequence[str]) -> str:
    if any(name in _TENSORFLOW_FILES or name.endswith(".index") for name in names):
        return "a checkpoint or model of TensorFlow"
    return f"other files ({', '.join(sorted(names)[:3])})"


def _writing(path: Path) -> contextlib.AbstractContextManager[None]:
    return explained(f"The run folder {path} cannot be written", RunFolderUnwritable)
