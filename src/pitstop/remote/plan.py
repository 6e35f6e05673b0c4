"""What to send and what to remove, in which order, so that a mirror follows a folder.  Pure.

A manifest is sent after its files and removed before them: each in the mirror has all of its
files there, with the content that it was written for.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pitstop.record import Frozen
from pitstop.store.manifest import MANIFEST_FILE, TENSORS_FILE, Manifest
from pitstop.store.names import is_shared, lasting_name
from pitstop.store.run_folder import CHECKPOINTS_DIR

LEASE_KEY = "lease.json"
FILES_PREFIX = f"{CHECKPOINTS_DIR}/files/"

_MANIFEST = re.compile(rf"{CHECKPOINTS_DIR}/([^/]+)/{re.escape(MANIFEST_FILE)}")


def manifest_key(name: str) -> str:
    return f"{CHECKPOINTS_DIR}/{name}/{MANIFEST_FILE}"


def checkpoint_of(key: str) -> str | None:
    """The name of the checkpoint whose manifest this is, None for other objects."""
    match = _MANIFEST.fullmatch(key)
    return match.group(1) if match else None


def file_keys(name: str, manifest: Manifest) -> dict[str, str]:
    """By name of a file in the folder of a checkpoint: the object that holds it."""
    names = {part.file for tensor in manifest.tensors.values() for part in tensor.parts}
    names.update(manifest.files)
    return {file: _file_key(name, manifest.sequence, file) for file in sorted(names)}


def _file_key(name: str, sequence: int, file: str) -> str:
    if file == TENSORS_FILE:
        return FILES_PREFIX + lasting_name(sequence)
    if is_shared(file):
        return FILES_PREFIX + file
    return f"{CHECKPOINTS_DIR}/{name}/{file}"


class LocalFile(Frozen):
    path: Path
    size_bytes: int
    stamp: str  # differs where the content differs


class LocalCheckpoint(Frozen):
    """A committed checkpoint in the local folder: its manifest, and its other files by key."""

    name: str
    step: int
    key: str
    manifest: LocalFile
    files: Mapping[str, LocalFile]


class RemoteObject(Frozen):
    """An object of the mirror: a file of a checkpoint, or a manifest."""

    stamp: str  # of the local file that was sent; empty if the content is not known
    needs: frozenset[str] = frozenset()  # other objects that a manifest refers to


RemoteState = Mapping[str, RemoteObject]  # what the mirror holds of checkpoints, by key


class Put(Frozen):
    """Send a file; a checkpoint exists once its manifest is sent."""

    key: str
    file: LocalFile
    checkpoint: LocalCheckpoint | None = None


class Remove(Frozen):
    """Remove an object; a checkpoint without its manifest no longer exists."""

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

    A folder without any is more likely to have lost them: the mirror stays.
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
