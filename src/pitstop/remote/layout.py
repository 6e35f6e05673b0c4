"""The names of a mirror's objects.  Pure; specified in docs/remote.md.

A tensors file that several checkpoints share by hard links is one object, named
by the checkpoint that wrote it; everything else of a checkpoint lies beside its
manifest.
"""

from __future__ import annotations

import re

from pitstop.store.manifest import MANIFEST_FILE, TENSORS_FILE, Manifest
from pitstop.store.names import is_shared, lasting_name
from pitstop.store.run_folder import CHECKPOINTS_DIR

LEASE_KEY = "lease.json"
FILES_PREFIX = f"{CHECKPOINTS_DIR}/files/"

_MANIFEST = re.compile(rf"{CHECKPOINTS_DIR}/([^/]+)/{re.escape(MANIFEST_FILE)}")


def manifest_key(name: str) -> str:
    """The object whose presence makes a checkpoint."""
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


def is_checkpoint_file(key: str) -> bool:
    """Whether an object belongs to checkpoints and is no manifest."""
    return key.startswith(f"{CHECKPOINTS_DIR}/") and checkpoint_of(key) is None


def _file_key(name: str, sequence: int, file: str) -> str:
    if file == TENSORS_FILE:
        return FILES_PREFIX + lasting_name(sequence)
    if is_shared(file):
        return FILES_PREFIX + file
    return f"{CHECKPOINTS_DIR}/{name}/{file}"
