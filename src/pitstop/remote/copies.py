"""The two copies of a run: what the local folder holds, and what its mirror does."""

import contextlib
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from pitstop.errors import RunFolderInvalid
from pitstop.record import Frozen
from pitstop.remote import plan
from pitstop.remote.storage import Storage
from pitstop.store import run_folder
from pitstop.store.catalog import Catalog
from pitstop.store.manifest import MANIFEST_FILE, Manifest
from pitstop.store.manifest import decode as decode_manifest


class StoredManifest(Frozen):
    """A manifest in the mirror; `manifest` is None when it is damaged."""

    name: str
    data: bytes
    manifest: Manifest | None

    @property
    def sequence(self) -> int:
        return self.manifest.sequence if self.manifest else 0


def read_checkpoints(run_dir: Path) -> tuple[plan.LocalCheckpoint, ...]:
    """The committed checkpoints, newest first, without those that vanish meanwhile."""
    found = []
    for entry in Catalog(run_dir / run_folder.CHECKPOINTS_DIR).entries():
        with contextlib.suppress(FileNotFoundError):
            if entry.manifest is not None:
                found.append(_local(entry.path, entry.manifest))
    return tuple(found)


def _local(path: Path, manifest: Manifest) -> plan.LocalCheckpoint:
    data = (path / MANIFEST_FILE).read_bytes()
    keys = plan.file_keys(path.name, manifest)
    return plan.LocalCheckpoint(
        name=path.name,
        step=manifest.info.step,
        key=plan.manifest_key(path.name),
        manifest=plan.LocalFile(path / MANIFEST_FILE, len(data), xxh3_64_hexdigest(data)),
        files={key: _stamped(path / file) for file, key in keys.items()},
    )


def _stamped(path: Path) -> plan.LocalFile:
    # Checkpoints never change, so an inode that is the same holds the same bytes;
    # its time tells it from a later file that was given the same number.
    found = path.stat()
    return plan.LocalFile(path, found.st_size, f"{found.st_ino}-{found.st_mtime_ns}")


def record_sizes(run_dir: Path) -> dict[str, int]:
    """The journal, and what the attempts have left, by key: files that only grow, in bytes now."""
    sizes = {}
    for path in (
        run_dir / run_folder.JOURNAL_FILE,
        *sorted((run_dir / run_folder.ATTEMPTS_DIR).glob("*/*")),
    ):
        # It may have got another name since the folder was read.
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            if stat.S_ISREG(found.st_mode) and not path.name.startswith("."):
                sizes[path.relative_to(run_dir).as_posix()] = found.st_size
    return sizes


def read_identity(storage: Storage) -> run_folder.RunIdentity | None:
    """The mirrored run, if any; `StorageFault`, `FormatTooNew` or `RunFolderInvalid`."""
    data = storage.read(run_folder.RUN_FILE)
    try:
        return run_folder.decode_identity(data) if data is not None else None
    except ValueError as error:
        raise RunFolderInvalid(
            f"{storage.url} is not a run's mirror: {error}.",
            "Use another URL with --run-dir.",
        ) from error


def read_manifests(storage: Storage, sizes: Mapping[str, int]) -> tuple[StoredManifest, ...]:
    """All manifests that a listing names, newest first; else `StorageFault` or `FormatTooNew`."""
    found = []
    for name in filter(None, map(plan.checkpoint_of, sizes)):
        data = storage.read(plan.manifest_key(name)) or b""
        try:
            found.append(StoredManifest(name, data, decode_manifest(data)))
        except ValueError:
            found.append(StoredManifest(name, data, None))
    return tuple(sorted(found, key=lambda each: each.sequence, reverse=True))


def state_of(
    manifests: Sequence[StoredManifest],
    sizes: Mapping[str, int],
    local: Sequence[plan.LocalCheckpoint],
) -> plan.RemoteState:
    """The mirror as the plan needs it.

    A file is the local one where both sides have a manifest that refers to it, and its size is
    right.
    """
    found = {
        key: plan.RemoteObject("")
        for key in sizes
        if key.startswith(f"{run_folder.CHECKPOINTS_DIR}/") and plan.checkpoint_of(key) is None
    }
    for stored in manifests:
        keys = plan.file_keys(stored.name, stored.manifest).values() if stored.manifest else ()
        digest = xxh3_64_hexdigest(stored.data)
        found[plan.manifest_key(stored.name)] = plan.RemoteObject(digest, frozenset(keys))
    for checkpoint in local:
        there = found.get(checkpoint.key)
        if there is not None and there.stamp == checkpoint.manifest.stamp:
            for key, file in checkpoint.files.items():
                if sizes.get(key) == file.size_bytes:
                    found[key] = plan.RemoteObject(file.stamp)
    return found
