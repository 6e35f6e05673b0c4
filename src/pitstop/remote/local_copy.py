"""What a local run folder holds that its mirror should hold."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterator
from pathlib import Path

from xxhash import xxh3_64_hexdigest

from pitstop.remote.layout import file_keys, manifest_key
from pitstop.remote.plan import LocalCheckpoint, LocalFile
from pitstop.store.catalog import Catalog
from pitstop.store.manifest import MANIFEST_FILE, Manifest
from pitstop.store.run_folder import ATTEMPTS_DIR, CHECKPOINTS_DIR, JOURNAL_FILE


def read_checkpoints(run_dir: Path) -> tuple[LocalCheckpoint, ...]:
    """The committed checkpoints, newest first, without those that vanish meanwhile."""
    return tuple(_present(run_dir / CHECKPOINTS_DIR))


def read_manifests(run_dir: Path) -> tuple[Manifest, ...]:
    """The manifests that can be read, newest first."""
    entries = Catalog(run_dir / CHECKPOINTS_DIR).entries()
    return tuple(entry.manifest for entry in entries if entry.manifest)


def record_sizes(run_dir: Path) -> dict[str, int]:
    """The journal, and what the attempts have left, by key: files that only grow, in bytes now."""
    sizes = {}
    for path in (run_dir / JOURNAL_FILE, *sorted((run_dir / ATTEMPTS_DIR).glob("*/*"))):
        # It may have got another name since the folder was read.
        with contextlib.suppress(FileNotFoundError):
            found = path.stat()
            if stat.S_ISREG(found.st_mode) and not path.name.startswith("."):
                sizes[path.relative_to(run_dir).as_posix()] = found.st_size
    return sizes


def _present(folder: Path) -> Iterator[LocalCheckpoint]:
    for entry in Catalog(folder).entries():
        if entry.manifest is None:
            continue
        try:
            yield _described(entry.path, entry.manifest)
        except FileNotFoundError:
            continue


def _described(path: Path, manifest: Manifest) -> LocalCheckpoint:
    data = (path / MANIFEST_FILE).read_bytes()
    keys = file_keys(path.name, manifest)
    return LocalCheckpoint(
        name=path.name,
        step=manifest.info.step,
        key=manifest_key(path.name),
        manifest=LocalFile(path / MANIFEST_FILE, len(data), xxh3_64_hexdigest(data)),
        files={key: _stamped(path / file) for file, key in keys.items()},
    )


def _stamped(path: Path) -> LocalFile:
    # Checkpoints never change, so an inode that is the same holds the same bytes;
    # its time tells it from a later file that was given the same number.
    found = path.stat()
    return LocalFile(path, found.st_size, f"{found.st_ino}-{found.st_mtime_ns}")
