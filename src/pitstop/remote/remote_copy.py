"""What a mirror holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xxhash import xxh3_64_hexdigest

from pitstop.errors import RunFolderInvalid
from pitstop.record import record
from pitstop.remote.layout import checkpoint_of, file_keys, is_checkpoint_file, manifest_key
from pitstop.remote.plan import LocalCheckpoint, RemoteObject, RemoteState
from pitstop.remote.storage import Storage
from pitstop.store.manifest import Manifest
from pitstop.store.manifest import decode as decode_manifest
from pitstop.store.run_folder import RUN_FILE, RunIdentity, decode_identity


@record
class StoredManifest:
    """A manifest in the mirror; `manifest` is None when it cannot be believed."""

    name: str
    data: bytes
    manifest: Manifest | None

    @property
    def sequence(self) -> int:
        """The checkpoint's number in the run, 0 when it is not known."""
        return self.manifest.sequence if self.manifest else 0


def read_identity(storage: Storage) -> RunIdentity | None:
    """The run that is mirrored, None when there is none.

    Raises `StorageFault`, `FormatTooNew`, or `RunFolderInvalid` where something else is there.
    """
    data = storage.read(RUN_FILE)
    try:
        return decode_identity(data) if data is not None else None
    except ValueError as error:
        raise RunFolderInvalid(
            f"{storage.url} is no run's mirror: {error}.", "Name another URL with --run-dir."
        ) from error


def read_manifests(storage: Storage, sizes: Mapping[str, int]) -> tuple[StoredManifest, ...]:
    """All manifests that a listing names, newest first; else `StorageFault` or `FormatTooNew`."""
    names = filter(None, map(checkpoint_of, sizes))
    found = [_read_manifest(storage, name) for name in names]
    return tuple(sorted(found, key=lambda each: each.sequence, reverse=True))


def state_of(
    manifests: Sequence[StoredManifest],
    sizes: Mapping[str, int],
    local: Sequence[LocalCheckpoint],
) -> RemoteState:
    """The mirror as the plan needs it.

    A file is known to be the local one when a manifest that both sides have
    refers to it, and its size is right.
    """
    found = {key: RemoteObject("") for key in sizes if is_checkpoint_file(key)}
    found |= {manifest_key(each.name): _described(each) for each in manifests}
    for checkpoint in local:
        there = found.get(checkpoint.key)
        for key, file in checkpoint.files.items():
            alike = there is not None and there.stamp == checkpoint.manifest.stamp
            if alike and sizes.get(key) == file.size_bytes:
                found[key] = RemoteObject(file.stamp)
    return found


def _described(stored: StoredManifest) -> RemoteObject:
    keys = file_keys(stored.name, stored.manifest).values() if stored.manifest else ()
    return RemoteObject(xxh3_64_hexdigest(stored.data), frozenset(keys))


def _read_manifest(storage: Storage, name: str) -> StoredManifest:
    data = storage.read(manifest_key(name)) or b""
    try:
        return StoredManifest(name, data, decode_manifest(data))
    except ValueError:
        return StoredManifest(name, data, None)
