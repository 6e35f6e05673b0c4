"""Brings a mirrored run into a local folder."""

import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from pitstop import journal
from pitstop.errors import CheckpointCorrupt, RunNotFound
from pitstop.remote.copies import StoredManifest, read_identity, read_manifests
from pitstop.remote.plan import file_keys
from pitstop.remote.storage import Storage
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.filesystem import REAL_FILESYSTEM, replace_file
from pitstop.store.manifest import MANIFEST_FILE, Manifest
from pitstop.store.names import is_checkpoint
from pitstop.store.run_folder import ATTEMPTS_DIR, CHECKPOINTS_DIR, JOURNAL_FILE, RUN_FILE


def fetch_run(storage: Storage, target: Path, say: Callable[[str], None]) -> tuple[Manifest, ...]:
    """Fetches a run, without damaged checkpoints; raises `StorageFault` or `OSError`."""
    staging = target.with_name(f".{target.name}.fetching")
    shutil.rmtree(staging, ignore_errors=True)
    sizes = storage.sizes()
    fetch_records(storage, staging, sizes)
    manifests = read_manifests(storage, sizes)
    found = _fetch_checkpoints(storage, staging / CHECKPOINTS_DIR, manifests, say)
    REAL_FILESYSTEM.sync_dir(staging)
    staging.rename(target)
    REAL_FILESYSTEM.sync_dir(target.parent)
    return found


def fetch_records(storage: Storage, target: Path, sizes: Mapping[str, int]) -> None:
    (target / CHECKPOINTS_DIR).mkdir(parents=True)
    (target / ATTEMPTS_DIR).mkdir()
    for key in (RUN_FILE, JOURNAL_FILE):
        storage.download(key, target / key)
    # The number of the next attempt follows from these, also of those that left nothing.
    for entry in journal.read(target / JOURNAL_FILE).entries:
        (target / ATTEMPTS_DIR / str(entry.attempt)).mkdir(exist_ok=True)
    for key in sizes:
        folder, _, rest = key.partition("/")
        number, _, name = rest.partition("/")
        if folder == ATTEMPTS_DIR and number.isdecimal() and name and "/" not in name:
            (target / ATTEMPTS_DIR / number).mkdir(exist_ok=True)
            storage.download(key, target / ATTEMPTS_DIR / number / name)


def _fetch_checkpoints(
    storage: Storage, folder: Path, manifests: Sequence[StoredManifest], say: Callable[[str], None]
) -> tuple[Manifest, ...]:
    fetched: dict[str, Path] = {}
    good = []
    for stored in manifests:
        if not is_checkpoint(stored.name):
            continue
        try:
            good.append(_fetch_checkpoint(storage, folder / stored.name, stored, fetched))
        except CheckpointCorrupt as damage:
            shutil.rmtree(folder / stored.name, ignore_errors=True)
            fetched = {key: path for key, path in fetched.items() if path.exists()}
            say(f"skipping checkpoint {stored.name} in {storage.url}: {damage.reason}.")
    REAL_FILESYSTEM.sync_dir(folder)
    return tuple(good)


def _fetch_checkpoint(
    storage: Storage, folder: Path, stored: StoredManifest, fetched: dict[str, Path]
) -> Manifest:
    """Fetches what no other checkpoint shares, links what one does, and verifies all."""
    folder.mkdir()
    if stored.manifest is None:
        raise CheckpointCorrupt(folder, f"its {MANIFEST_FILE} is damaged")
    for file, key in file_keys(stored.name, stored.manifest).items():
        if file != Path(file).name:
            raise CheckpointCorrupt(folder, f"its manifest names a file {file!r}")
        if key in fetched:
            os.link(fetched[key], folder / file)
        elif not storage.download(key, folder / file):
            raise CheckpointCorrupt(folder, f"{file} is missing")
        fetched.setdefault(key, folder / file)
    Catalog(folder.parent).verify(CheckpointEntry(folder, stored.manifest))
    # Last, synced, and with the names in the folder, as when a checkpoint is committed.
    replace_file(folder / MANIFEST_FILE, stored.data)
    return stored.manifest


def fetch(url: str, target: Path) -> None:
    """Fetches a run but for its checkpoints' content, or raises `RunNotFound`, `StorageFault`."""
    storage = Storage(url)
    if read_identity(storage) is None:
        raise RunNotFound(f"There is no run at {url}.", "List runs with `pitstop ls URL`.")
    sizes = storage.sizes()
    fetch_records(storage, target, sizes)
    for stored in read_manifests(storage, sizes):
        if is_checkpoint(stored.name):
            folder = target / CHECKPOINTS_DIR / stored.name
            folder.mkdir()
            (folder / MANIFEST_FILE).write_bytes(stored.data)


def find(url: str) -> Iterator[str]:
    """The URLs of the runs at a URL, or right below it; `StorageFault` where it cannot be read."""
    storage = Storage(url)
    if storage.read(RUN_FILE) is not None:
        yield url
        return
    for name in sorted(storage.folders()):
        if storage.read(f"{name}/{RUN_FILE}") is not None:
            yield f"{url}/{name}"
