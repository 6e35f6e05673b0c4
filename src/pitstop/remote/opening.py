"""The start of a run that has a mirror: which side is the newer, and what is fetched."""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import RunFolderInvalid, RunFolderUnwritable, UserError
from pitstop.remote.fetch import fetch_run
from pitstop.remote.lease_holder import LeaseHolder
from pitstop.remote.local_copy import newest_entry
from pitstop.remote.remote_copy import read_identity, read_manifests
from pitstop.remote.storage import Storage
from pitstop.store.disk_fault import explain
from pitstop.store.lock import RunLock, own_record
from pitstop.store.manifest import Manifest
from pitstop.store.run_folder import JOURNAL_FILE, RUN_FILE, open_existing


class MirrorChoice(enum.Enum):
    """Where the run goes on from."""

    BEGIN = "begin"
    LOCAL = "local"
    FETCH = "fetch"
    REPLACE = "replace"


@dataclass(frozen=True, order=True)
class MirrorSide:
    """How far one of the two copies is; the greater one is the newer.

    Attributes:
        sequence: number of its newest checkpoint, 0 without one.
        created_seconds: when that was written.
        journal_bytes: size of its journal, which only grows.
    """

    sequence: int
    created_seconds: float
    journal_bytes: int

    @classmethod
    def of(cls, newest: Manifest | None, journal_bytes: int) -> MirrorSide:
        """From the newest checkpoint, None without one."""
        if newest is None:
            return cls(0, 0.0, journal_bytes)
        return cls(newest.sequence, newest.info.created_seconds, journal_bytes)


def choose(local: MirrorSide | None, remote: MirrorSide | None) -> MirrorChoice:
    """The newer side, where there are both; None for a side without a run."""
    if remote is None:
        return MirrorChoice.BEGIN if local is None else MirrorChoice.LOCAL
    if local is None:
        return MirrorChoice.FETCH
    return MirrorChoice.REPLACE if remote > local else MirrorChoice.LOCAL


class Opening:
    """Brings the local folder to where the run goes on."""

    def __init__(self, storage: Storage, run_dir: Path, say: Callable[[str], None]) -> None:
        self._storage = storage
        self._run_dir = run_dir
        self._say = say

    def run(self, lease: LeaseHolder, *, new: bool) -> None:
        """Takes the lease, compares, and fetches what is newer.

        Args:
            lease: taken before anything else is looked at.
            new: the user wants to begin anew.

        Raises:
            StorageFault: the mirror cannot be used.
            MirrorInUse: another live run writes it.
            UserError: the two are not the same run, or the folder is in use.
            FormatTooNew: a newer Pitstop wrote one of them.
            RunFolderUnwritable: the disk refused.
        """
        lease.acquire(self._say)
        local, remote = self._local_side(), self._remote_side(new=new)
        choice = choose(local, remote)
        if choice is MirrorChoice.REPLACE:
            self._put_aside()
        if choice in (MirrorChoice.FETCH, MirrorChoice.REPLACE):
            self._fetch()
        elif local is not None and remote is not None and local.sequence > remote.sequence:
            self._say(f"{self._run_dir} is newer than {self._storage.url}, which will follow.")

    def _local_side(self) -> MirrorSide | None:
        if not (self._run_dir / RUN_FILE).exists():
            return None
        newest = newest_entry(self._run_dir)
        journal = self._run_dir / JOURNAL_FILE
        size_bytes = journal.stat().st_size if journal.exists() else 0
        return MirrorSide.of(newest.manifest if newest else None, size_bytes)

    def _remote_side(self, *, new: bool) -> MirrorSide | None:
        identity = read_identity(self._storage)
        if identity is None:
            return None
        if new:
            raise UserError(
                f"{self._storage.url} holds a run, and a mirror cannot be put aside.",
                "Name another URL with --run-dir, or remove that one.",
            )
        self._check_same_run(identity.run_id)
        sizes = self._storage.sizes()
        manifests = read_manifests(self._storage, sizes)
        newest = manifests[0].manifest if manifests else None
        return MirrorSide.of(newest, sizes.get(JOURNAL_FILE, 0))

    def _check_same_run(self, run_id: str) -> None:
        if not (self._run_dir / RUN_FILE).exists():
            return
        if open_existing(self._run_dir).identity.run_id != run_id:
            raise RunFolderInvalid(
                f"{self._run_dir} and {self._storage.url} are two different runs.",
                "Name another local folder with --local-dir, or another URL with --run-dir.",
            )

    def _put_aside(self) -> None:
        folder = open_existing(self._run_dir)
        with contextlib.closing(RunLock.acquire(folder.lock, own_record())):
            place = folder.archive()
        self._say(
            f"{self._storage.url} is newer than {self._run_dir}, which was put aside as {place}."
        )

    def _fetch(self) -> None:
        self._say(f"fetching {self._storage.url} into {self._run_dir}.")
        try:
            self._run_dir.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                self._run_dir.rmdir()
            found = fetch_run(self._storage, self._run_dir, self._say)
        except OSError as error:
            fault = explain(error)
            raise RunFolderUnwritable(
                f"{self._run_dir} cannot be fetched to: {fault.cause}.", fault.remedy
            ) from error
        newest = f", the newest of step {found[0].info.step}" if found else ""
        plural = "" if len(found) == 1 else "s"
        self._say(f"fetched {len(found)} checkpoint{plural}{newest}.")
