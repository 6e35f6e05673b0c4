"""What to send and what to remove, in which order, so that a mirror follows a folder.  Pure.

Behind every step of a plan, each manifest in the mirror has all of its files
there, with the content that it was written for: a manifest is sent behind its
files and removed before them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pitstop.record import record
from pitstop.remote.layout import checkpoint_of


@record
class LocalFile:
    """A file of a checkpoint; `stamp` is another one when its content is another one."""

    path: Path
    size_bytes: int
    stamp: str


@record
class LocalCheckpoint:
    """A committed checkpoint in the local folder: its manifest, and its other files by key."""

    name: str
    step: int
    key: str
    manifest: LocalFile
    files: Mapping[str, LocalFile]


@record
class RemoteObject:
    """An object of the mirror: a file of a checkpoint, or a manifest, which needs other objects.

    `stamp`: of the local file that was sent; empty when it is not known what the object holds.
    """

    stamp: str
    needs: frozenset[str] = frozenset()


RemoteState = Mapping[str, RemoteObject]
"""What the mirror holds of checkpoints, by key."""


@record
class Put:
    """Send a file; with its manifest a checkpoint is there."""

    key: str
    file: LocalFile
    checkpoint: LocalCheckpoint | None = None


@record
class Remove:
    """Remove an object; without its manifest a checkpoint is gone."""

    key: str


Action = Put | Remove


def apply(remote: RemoteState, action: Action) -> RemoteState:
    others = {key: found for key, found in remote.items() if key != action.key}
    if isinstance(action, Remove):
        return others
    needs = frozenset(action.checkpoint.files) if action.checkpoint else frozenset()
    return {**others, action.key: RemoteObject(action.file.stamp, needs)}


def plan(local: Sequence[LocalCheckpoint], remote: RemoteState) -> tuple[Action, ...]:
    """The steps that make the mirror hold the local checkpoints, newest first, and no others.

    A folder without any checkpoint leaves the mirror as it is: it is more
    likely to have lost them than to have given them up.
    """
    wanted = {key: file for each in reversed(local) for key, file in each.files.items()}
    actions: list[Action] = []
    for checkpoint in local:
        for action in _sending(checkpoint, wanted, remote):
            actions.append(action)
            remote = apply(remote, action)
    kept = wanted.keys() | {each.key for each in local}
    others = sorted(remote.keys() - kept, key=lambda key: (checkpoint_of(key) is None, key))
    return (*actions, *map(Remove, others)) if local else ()


def _sending(
    checkpoint: LocalCheckpoint, wanted: Mapping[str, LocalFile], remote: RemoteState
) -> Iterator[Action]:
    """What a checkpoint lacks in the mirror, its manifest last."""
    stamps = {key: found.stamp for key, found in remote.items()}
    lacking = sorted(key for key in checkpoint.files if stamps.get(key) != wanted[key].stamp)
    # What is sent may replace objects of the same names from another line of the run.
    replaced = sorted(key for key, found in remote.items() if not found.needs.isdisjoint(lacking))
    yield from map(Remove, replaced)
    yield from (Put(key, wanted[key]) for key in lacking)
    if checkpoint.key in replaced or stamps.get(checkpoint.key) != checkpoint.manifest.stamp:
        yield Put(checkpoint.key, checkpoint.manifest, checkpoint)
