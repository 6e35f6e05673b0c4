"""Brings a mirror up to date with the local folder, one pass at a time."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.events import CheckpointUploaded, Event
from pitstop.remote import plan
from pitstop.remote.copies import read_checkpoints, read_manifests, record_sizes, state_of
from pitstop.remote.plan import Action, Put, RemoteState
from pitstop.remote.storage import LocalFileGone, Storage, StorageFault
from pitstop.store.disk_fault import explained
from pitstop.store.run_folder import RUN_FILE


class Mirror:
    """The mirror of one run folder; looked up once, since nobody else writes it."""

    def __init__(self, storage: Storage, run_dir: Path, report: Callable[[Event], None]) -> None:
        self._storage = storage
        self._run_dir = run_dir
        self._report = report
        self._remote: RemoteState | None = None
        self._sizes: dict[str, int] = {}
        self._sent_bytes = 0
        self._began_seconds = 0.0

    def update(self, is_wanted: Callable[[], bool]) -> bool:
        """Sends and removes until the mirror holds what the folder holds; whether that is done.

        `is_wanted` is asked before each step; after a no or a `StorageFault`, the next pass goes
        on.
        """
        self._began_seconds, self._sent_bytes = time.monotonic(), 0
        try:
            with self._local_faults_explained():
                return self._follow(is_wanted)
        except LocalFileGone:
            # The folder has changed since the plan was made.
            return False

    def _follow(self, is_wanted: Callable[[], bool]) -> bool:
        if not is_wanted():
            return False
        remote = self._look()
        if RUN_FILE not in self._sizes:
            self._send(self._run_dir / RUN_FILE, RUN_FILE)
        for action in plan.plan(read_checkpoints(self._run_dir), remote):
            if not is_wanted():
                return False
            self._take(action)
            self._remote = plan.apply(self._look(), action)
        for key in self._late_records():
            if not is_wanted():
                return False
            self._send(self._run_dir / key, key)
        return True

    def missing(self) -> list[str]:
        """Names of checkpoints, and paths of files, that the mirror lacks; else `StorageFault`."""
        with self._local_faults_explained():
            actions = plan.plan(read_checkpoints(self._run_dir), self._remote or {})
            puts = [each for each in actions if isinstance(each, Put)]
            names = [each.checkpoint.name for each in puts if each.checkpoint]
            return names + self._late_records()

    def _local_faults_explained(self) -> contextlib.AbstractContextManager[None]:
        # Those of the storage have been explained where they came up.
        return explained(f"{self._run_dir} cannot be read", StorageFault)

    def _look(self) -> RemoteState:
        if self._remote is None:
            self._sizes = self._storage.sizes()
            manifests = read_manifests(self._storage, self._sizes)
            local = read_checkpoints(self._run_dir)
            self._remote = state_of(manifests, self._sizes, local)
        return self._remote

    def _late_records(self) -> list[str]:
        # They only grow, so the same size is the same content.
        sizes = record_sizes(self._run_dir).items()
        return [key for key, size_bytes in sizes if self._sizes.get(key) != size_bytes]

    def _take(self, action: Action) -> None:
        if not isinstance(action, Put):
            self._storage.remove(action.key)
            return
        self._send(action.file.path, action.key)
        if action.checkpoint:
            now = time.monotonic()
            seconds, sent = now - self._began_seconds, self._sent_bytes
            step, name = action.checkpoint.step, action.checkpoint.name
            self._report(CheckpointUploaded(step, name, sent, seconds))
            self._began_seconds, self._sent_bytes = now, 0

    def _send(self, path: Path, key: str) -> None:
        # The size from before: what is appended meanwhile is sent the next time.
        try:
            size_bytes = path.stat().st_size
        except FileNotFoundError:
            raise LocalFileGone(str(path)) from None
        self._storage.upload(path, key)
        self._sizes[key] = size_bytes
        self._sent_bytes += size_bytes
