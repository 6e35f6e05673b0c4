"""The checkpoints of one run: which there are, which are good, which may go."""

import contextlib
import math
from pathlib import Path

from pitstop.errors import CheckpointCorrupt, EnvironmentFault, RunFolderUnwritable
from pitstop.record import Frozen
from pitstop.store.disk_fault import explained
from pitstop.store.filesystem import REAL_FILESYSTEM, Filesystem, replace_file
from pitstop.store.manifest import MANIFEST_FILE, Manifest, decode
from pitstop.store.names import (
    EXPIRED_PREFIX,
    QUARANTINE_DIR,
    first_free,
    is_checkpoint,
    is_leftover,
    numbered_names,
)
from pitstop.store.reader import opened, read_state, read_tensors
from pitstop.store.retention import RetentionPolicy, choose_expired

REASON_FILE = "reason.txt"


class CheckpointEntry(Frozen):
    """A checkpoint folder; files may be damaged despite a manifest, see `Catalog.verify`."""

    path: Path
    manifest: Manifest | None
    problem: str = ""

    @property
    def sequence(self) -> int:
        return self.manifest.sequence if self.manifest else 0

    def readable(self) -> Manifest:
        """Its manifest; `CheckpointCorrupt` where that could not be read."""
        if self.manifest is None:
            raise CheckpointCorrupt(self.path, self.problem)
        return self.manifest


_Identity = tuple[int, int, int] | None
"""Of a manifest: inode, bytes, time of its last change in nanoseconds; None where there is none."""


class Catalog:
    """The checkpoints in one folder; the caller of what changes it holds the run's lock."""

    def __init__(self, checkpoints_dir: Path, filesystem: Filesystem = REAL_FILESYSTEM) -> None:
        self.checkpoints_dir = checkpoints_dir
        self._filesystem = filesystem
        self._read: dict[str, tuple[_Identity, CheckpointEntry]] = {}

    def entries(self) -> tuple[CheckpointEntry, ...]:
        """Newest first, unreadable ones before; raises `FormatTooNew` or `EnvironmentFault`."""
        names = sorted((name for name in self._names() if is_checkpoint(name)), reverse=True)
        self._read = {name: self._entry(name) for name in names}
        found = (entry for _, entry in self._read.values())
        return tuple(sorted(found, key=lambda each: -each.sequence if each.manifest else -math.inf))

    def manifests(self) -> list[Manifest]:
        """Those that can be read, newest first; raises as `entries`."""
        return [entry.manifest for entry in self.entries() if entry.manifest]

    def _entry(self, name: str) -> tuple[_Identity, CheckpointEntry]:
        """An entry, which is read again only if its manifest is another file or was changed."""
        path = self.checkpoints_dir / name
        identity = _identity(path / MANIFEST_FILE)
        known = self._read.get(name)
        if known and identity and known[0] == identity:
            return known
        return identity, _read_entry(path)

    def next_sequence(self) -> int:
        return 1 + max((entry.sequence for entry in self.entries()), default=0)

    def verify(self, entry: CheckpointEntry) -> Manifest:
        """Reads every byte of a checkpoint; raises `CheckpointCorrupt` or `EnvironmentFault`."""
        manifest = entry.readable()
        read_state(entry.path, manifest)
        read_tensors(entry.path, manifest, sink=lambda _piece: None)
        return manifest

    def quarantine(self, entry: CheckpointEntry, reason: str) -> Path:
        """Sets a damaged checkpoint aside, with the reason in a file; or `RunFolderUnwritable`."""
        folder = self.checkpoints_dir / QUARANTINE_DIR
        with self._changing():
            if not folder.exists():
                self._filesystem.make_dir(folder)
            target = first_free(folder, numbered_names(entry.path.name, first=2))
            replace_file(entry.path / REASON_FILE, f"{reason}\n".encode(), self._filesystem)
            self._filesystem.rename(entry.path, target)
            self._filesystem.sync_dir(folder)
            self._filesystem.sync_dir(self.checkpoints_dir)
        return target

    def prune(self, policy: RetentionPolicy, kept: str = "") -> list[Path]:
        """Removes the checkpoints that the policy gives up; or `RunFolderUnwritable`."""
        entries = self.entries()
        manifests = (entry.manifest for entry in entries if entry.manifest)
        expired = choose_expired(manifests, policy)
        gone = [
            entry.path
            for entry in entries
            if entry.manifest and entry.sequence in expired and entry.path.name != kept
        ]
        for path in gone:
            self._remove(path)
        return gone

    def remove_partials(self) -> list[Path]:
        """Removes what a crash left half written or half removed; what it was called."""
        leftovers = [self.checkpoints_dir / name for name in self._names() if is_leftover(name)]
        for path in leftovers:
            self._filesystem.remove_tree(path)
        return leftovers

    def _remove(self, path: Path) -> None:
        # A rename first: a crash in the middle must not leave half a checkpoint
        # that would be taken for a damaged one.
        hidden = path.with_name(f"{EXPIRED_PREFIX}{path.name}")
        with self._changing():
            self._filesystem.remove_tree(hidden)
            self._filesystem.rename(path, hidden)
            self._filesystem.remove_tree(hidden)

    def _names(self) -> list[str]:
        with (
            explained(f"{self.checkpoints_dir} cannot be read", EnvironmentFault),
            contextlib.suppress(FileNotFoundError),
        ):
            return sorted(path.name for path in self.checkpoints_dir.iterdir() if path.is_dir())
        return []

    def _changing(self) -> contextlib.AbstractContextManager[None]:
        return explained(f"{self.checkpoints_dir} cannot be changed", RunFolderUnwritable)


def _identity(path: Path) -> _Identity:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def _read_entry(path: Path) -> CheckpointEntry:
    try:
        with opened(path, MANIFEST_FILE) as file:
            return CheckpointEntry(path, decode(file.read()))
    except CheckpointCorrupt as error:
        return CheckpointEntry(path, None, error.reason)
    except ValueError as error:
        return CheckpointEntry(path, None, f"{MANIFEST_FILE} is unreadable, {error}")
