"""The start of a run that has a mirror: which side is the newer, and what is fetched."""

import contextlib
import enum
import itertools
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Self

from pitstop.errors import RunFolderInvalid, RunFolderUnwritable, UserError
from pitstop.events import CheckpointCommitted
from pitstop.journal import decode
from pitstop.machine.regular_file import read_regular
from pitstop.record import Frozen
from pitstop.remote.copies import read_identity, read_manifests
from pitstop.remote.fetch import fetch_run
from pitstop.remote.lease_holder import LeaseHolder
from pitstop.remote.storage import Storage
from pitstop.store.catalog import Catalog
from pitstop.store.disk_fault import explained
from pitstop.store.lock import RunLock, own_record
from pitstop.store.manifest import Manifest
from pitstop.store.names import first_free, numbered_names
from pitstop.store.run_folder import CHECKPOINTS_DIR, JOURNAL_FILE, RUN_FILE, archive, open_existing


class MirrorChoice(enum.Enum):
    """Where the run goes on from; `BESIDE` is the local copy, with the mirror's beside it."""

    BEGIN = "begin"
    LOCAL = "local"
    FETCH = "fetch"
    REPLACE = "replace"
    BESIDE = "beside"


class MirrorSide(Frozen):
    """How far one copy is; unless they have diverged, one journal is the beginning of the other."""

    journal: bytes
    saved: frozenset[tuple[int, float]] = frozenset()  # number and time of each checkpoint
    step: int = 0
    attempt: int = 0

    @classmethod
    def of(cls, manifests: Iterable[Manifest], journal: bytes) -> Self:
        found = sorted(manifests, key=lambda each: each.sequence)
        saved = frozenset((each.sequence, each.info.created_seconds) for each in found)
        if not found:
            return cls(journal)
        return cls(journal, saved, found[-1].info.step, found[-1].info.attempt)

    @property
    def newest(self) -> tuple[int, float]:
        """Number and time of the newest checkpoint, zeros without one."""
        return max(self.saved, default=(0, 0.0))

    @property
    def place(self) -> str:
        return f"at step {self.step} of attempt {self.attempt}" if self.saved else "without a state"


def choose_side(local: MirrorSide | None, remote: MirrorSide | None) -> MirrorChoice:
    """Where the run goes on: the further copy; if they have diverged, the other is kept aside."""
    if remote is None:
        return MirrorChoice.BEGIN if local is None else MirrorChoice.LOCAL
    if local is None:
        return MirrorChoice.FETCH
    if not have_diverged(local, remote):
        is_newer = (*remote.newest, len(remote.journal)) > (*local.newest, len(local.journal))
        return MirrorChoice.REPLACE if is_newer else MirrorChoice.LOCAL
    if (remote.step, remote.newest[1]) >= (local.step, local.newest[1]):
        return MirrorChoice.REPLACE
    return MirrorChoice.LOCAL if remote.newest in local.saved else MirrorChoice.BESIDE


def have_diverged(one: MirrorSide, other: MirrorSide) -> bool:
    return all(_own_lines(one.journal, other.journal))


def has_saved_apart(one: MirrorSide, other: MirrorSide) -> bool:
    """Whether a copy has saved states that the other one, which has diverged, lacks."""
    lines, others = _own_lines(one.journal, other.journal)
    entries = map(decode, lines)
    return bool(others) and any(
        entry is not None and isinstance(entry.event, CheckpointCommitted) for entry in entries
    )


def _own_lines(one: bytes, other: bytes) -> tuple[list[bytes], list[bytes]]:
    # Without what a crash has left of a last line.
    whole = [each[: each.rfind(b"\n") + 1].splitlines(keepends=True) for each in (one, other)]
    pairs = zip(*whole, strict=False)
    begin = sum(1 for _ in itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))
    return whole[0][begin:], whole[1][begin:]


class Opening:
    """Brings the local folder to where the run goes on."""

    def __init__(self, storage: Storage, run_dir: Path, say: Callable[[str], None]) -> None:
        self._storage = storage
        self._run_dir = run_dir
        self._say = say

    def run(self, lease: LeaseHolder, *, new: bool) -> None:
        """Takes the lease, compares, and fetches what is newer.

        Raises `StorageFault`, `MirrorInUse`, `FormatTooNew`, `RunFolderUnwritable`, or a
        `UserError` where the two are not the same run, or the folder is in use.
        """
        lease.acquire(self._say)
        local, remote = self._local_side(), self._remote_side(new=new)
        choice = choose_side(local, remote)
        if local is not None and remote is not None:
            self._bring_together(choice, local, remote)
        if choice in (MirrorChoice.FETCH, MirrorChoice.REPLACE):
            self._fetch(self._run_dir)

    def _bring_together(self, choice: MirrorChoice, local: MirrorSide, remote: MirrorSide) -> None:
        url, here = self._storage.url, self._run_dir
        if has_saved_apart(local, remote):
            self._say(f"{here} ({local.place}) and {url} ({remote.place}) have diverged.")
        if choice is MirrorChoice.REPLACE:
            folder = open_existing(here)
            with contextlib.closing(RunLock.acquire(folder.lock, own_record())):
                aside = archive(folder.path)
            self._say(f"{url} is newer than {here}, which was renamed to {aside}.")
            return
        if choice is MirrorChoice.BESIDE:
            # In a folder of its own, since the mirror follows another line from now on.
            beside = here.resolve()
            place = first_free(beside.parent, numbered_names(beside.name, first=1))
            self._fetch(place)
            self._say(f"the contents of {url} are kept as {place}.")
        if local.newest != remote.newest:
            self._say(f"{here} is newer than {url}, which will be updated.")

    def _local_side(self) -> MirrorSide | None:
        if not (self._run_dir / RUN_FILE).exists():
            return None
        journal = self._run_dir / JOURNAL_FILE
        data = read_regular(journal) if journal.exists() else b""
        return MirrorSide.of(Catalog(self._run_dir / CHECKPOINTS_DIR).manifests(), data)

    def _remote_side(self, *, new: bool) -> MirrorSide | None:
        identity = read_identity(self._storage)
        if identity is None:
            return None
        if new:
            raise UserError(
                f"{self._storage.url} contains a run, and a mirror cannot be renamed.",
                "Give another URL with --run-dir, or remove that run.",
            )
        here = open_existing(self._run_dir) if (self._run_dir / RUN_FILE).exists() else None
        if here is not None and here.identity.run_id != identity.run_id:
            raise RunFolderInvalid(
                f"{self._run_dir} and {self._storage.url} are two different runs.",
                "Give another local folder with --local-dir, or another URL with --run-dir.",
            )
        stored = read_manifests(self._storage, self._storage.sizes())
        journal = self._storage.read(JOURNAL_FILE) or b""
        return MirrorSide.of((each.manifest for each in stored if each.manifest), journal)

    def _fetch(self, target: Path) -> None:
        self._say(f"fetching {self._storage.url} into {target}.")
        with explained(f"Cannot fetch to {target}", RunFolderUnwritable):
            target.parent.mkdir(parents=True, exist_ok=True)
            with contextlib.suppress(FileNotFoundError):
                target.rmdir()
            found = fetch_run(self._storage, target, self._say)
        newest = f", the newest of step {found[0].info.step}" if found else ""
        plural = "" if len(found) == 1 else "s"
        self._say(f"fetched {len(found)} checkpoint{plural}{newest}.")
