"""What to send and what to remove, in which order, so that a mirror follows a folder.  Pure.

Behind every step of a plan, each manifest in the mirror has all of its files
there, with the content that it was written for: a manifest is sent behind its
files and removed before them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from pitstop.record import record

_T = TypeVar("_T")


@record
class LocalFile:
    """A file of a checkpoint; `stamp` is another one when its content is another one."""

    path: Path
    size_bytes: int
    stamp: str


@record
class LocalCheckpoint:
    """A committed checkpoint in the local folder: its manifest's digest, other files by key."""

    name: str
    sequence: int
    step: int
    digest: str
    manifest: Path
    files: Mapping[str, LocalFile]


@record
class RemoteCheckpoint:
    """A manifest in the mirror: the digest of its bytes, and the objects it refers to."""

    digest: str
    keys: frozenset[str]


@record
class RemoteState:
    """What the mirror holds of checkpoints.

    Attributes:
        checkpoints: by name.
        files: by key, the stamp of the local file that was sent; empty when it
            is not known what the object holds.
    """

    checkpoints: Mapping[str, RemoteCheckpoint]
    files: Mapping[str, str]


@record
class PutFile:
    """Send a file."""

    key: str
    file: LocalFile


@record
class PutManifest:
    """Send a manifest; with it the checkpoint is there."""

    checkpoint: LocalCheckpoint


@record
class RemoveManifest:
    """Remove a manifest; with it the checkpoint is gone."""

    name: str


@record
class RemoveFile:
    """Remove a file that no checkpoint needs."""

    key: str


Action = PutFile | PutManifest | RemoveManifest | RemoveFile


def apply(remote: RemoteState, action: Action) -> RemoteState:
    match action:
        case PutFile(key, file):
            return replace(remote, files={**remote.files, key: file.stamp})
        case PutManifest(checkpoint):
            entry = RemoteCheckpoint(checkpoint.digest, frozenset(checkpoint.files))
            return replace(remote, checkpoints={**remote.checkpoints, checkpoint.name: entry})
        case RemoveManifest(name):
            return replace(remote, checkpoints=_without(remote.checkpoints, name))
        case RemoveFile(key):
            return replace(remote, files=_without(remote.files, key))


def plan(local: Sequence[LocalCheckpoint], remote: RemoteState) -> tuple[Action, ...]:
    """The steps that make the mirror hold the local checkpoints and no others.

    A folder without any checkpoint leaves the mirror as it is: it is more
    likely to have lost them than to have given them up.
    """
    if not local:
        return ()
    planner = _Planner(local, remote)
    for checkpoint in local:
        planner.send(checkpoint)
    planner.remove_others()
    return tuple(planner.actions)


class _Planner:
    """A plan as it grows, and the mirror as it will be by then."""

    def __init__(self, local: Sequence[LocalCheckpoint], remote: RemoteState) -> None:
        self.actions: list[Action] = []
        self._remote = remote
        self._names = {checkpoint.name for checkpoint in local}
        self._wanted: dict[str, LocalFile] = {}
        for checkpoint in local:
            for key, file in checkpoint.files.items():
                self._wanted.setdefault(key, file)

    def send(self, checkpoint: LocalCheckpoint) -> None:
        """Plans what a checkpoint lacks in the mirror, its manifest last."""
        for key in sorted(checkpoint.files):
            self._send_file(key)
        there = self._remote.checkpoints.get(checkpoint.name)
        if there is None or there.digest != checkpoint.digest:
            self._add(PutManifest(checkpoint))

    def remove_others(self) -> None:
        """Plans the end of what the local folder does not have."""
        for name in sorted(set(self._remote.checkpoints) - self._names):
            self._add(RemoveManifest(name))
        for key in sorted(set(self._remote.files) - set(self._wanted)):
            self._add(RemoveFile(key))

    def _send_file(self, key: str) -> None:
        if self._remote.files.get(key) == self._wanted[key].stamp:
            return
        # It may replace an object of the same name from another line of the run.
        for name, there in sorted(self._remote.checkpoints.items()):
            if key in there.keys:
                self._add(RemoveManifest(name))
        self._add(PutFile(key, self._wanted[key]))

    def _add(self, action: Action) -> None:
        self.actions.append(action)
        self._remote = apply(self._remote, action)


def _without(mapping: Mapping[str, _T], key: str) -> dict[str, _T]:
    return {other: value for other, value in mapping.items() if other != key}
