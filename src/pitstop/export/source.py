"""The checkpoint that is exported, verified and in memory."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from pitstop.engine.saved_state import SavedState, open_saved_state
from pitstop.errors import CheckpointCorrupt, UserError
from pitstop.record import Frozen
from pitstop.snapshot.loading import RestoreImage, load
from pitstop.store.catalog import Catalog, CheckpointEntry
from pitstop.store.manifest import Manifest
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.helpers.restoring import restore_points
from pitstop.supervisor.processes.trainer_slot import RestorePoints


class Source(Frozen):
    """A checkpoint and those that a script goes through on its way to it.

    `points` are as a resume has them; the files of `loaded` are open: a live run may remove them.
    """

    name: str
    manifest: Manifest
    saved: SavedState
    points: RestorePoints
    entries: tuple[CheckpointEntry, ...]
    loaded: RestoreImage

    def close(self) -> None:
        self.loaded.close()

    def image(self, name: str) -> tuple[int, ...]:
        """A verified image of a point, descriptors the caller's; raises `CheckpointCorrupt`."""
        if name == self.name:
            return _duplicates(self.loaded)
        found = next(each for each in self.entries if each.path.name == name)
        return load(found.path, found.readable()).fds


def choose(folder: RunFolder, wanted: str, say: Callable[[str], None]) -> Source:
    """The checkpoint of a name or a step, or the newest good one; the run may be live.

    Raises a `UserError` where there is none, `CheckpointCorrupt` where a named one is damaged.
    """
    entries = Catalog(folder.checkpoints).entries()
    candidates = [each for each in entries if not wanted or wanted in _names_of(each)]
    for each in candidates:
        try:
            return _source(each, entries)
        except CheckpointCorrupt as damage:
            if wanted:
                raise
            say(f"{each.path} is damaged ({damage.reason}); using the one before it.")
    raise UserError(
        f"{folder.path} has no checkpoint{f' {wanted}' if wanted else ' to export'}.",
        f"See `pitstop checkpoints {folder.path}`; `pitstop checkpoint` saves one of a live run.",
    )


def _names_of(entry: CheckpointEntry) -> set[str]:
    info = entry.manifest.info if entry.manifest else None
    return {entry.path.name, *((info.name, str(info.step)) if info else ())}


def _source(entry: CheckpointEntry, entries: Sequence[CheckpointEntry]) -> Source:
    manifest = entry.readable()
    loaded = load(entry.path, manifest)
    return Source(
        name=entry.path.name,
        manifest=manifest,
        saved=open_saved_state(_duplicates(loaded)),
        points=restore_points(entries, entry.path.name),
        entries=tuple(entries),
        loaded=loaded,
    )


def _duplicates(image: RestoreImage) -> tuple[int, ...]:
    return tuple(os.dup(fd) for fd in image.fds)
