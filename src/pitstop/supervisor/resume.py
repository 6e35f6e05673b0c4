"""Where an attempt continues: which checkpoints the trainer restores.  Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pitstop.events import JsonValue, ResumeChosen, TrainerExited, TrainerStopped
from pitstop.journal import Entry
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo, Manifest


@dataclass(frozen=True)
class RestorePoint:
    """A checkpoint to restore: the folder's name and what its manifest says."""

    checkpoint: str
    info: CheckpointInfo

    def to_json(self) -> dict[str, JsonValue]:
        """For the trainer's welcome."""
        return {"checkpoint": self.checkpoint, "info": dataclasses.asdict(self.info)}

    def chosen(self) -> ResumeChosen:
        """The event that tells of it."""
        return ResumeChosen(self.info.step, self.info.epoch, self.checkpoint, self.info.level)


def restore_points(entries: Iterable[CheckpointEntry], newest: str) -> tuple[RestorePoint, ...]:
    """The states to restore, in the order of the fits they belong to.

    That is the end of every earlier fit, and the checkpoint to continue from,
    which may itself be the end of a fit.

    Args:
        entries: the checkpoints there are, in any order.
        newest: name of the one that was loaded; nothing newer is considered.
    """
    good = sorted(
        ((entry.path.name, entry.manifest) for entry in entries if entry.manifest),
        key=lambda pair: pair[1].sequence,
    )
    last = next((manifest for name, manifest in good if name == newest), None)
    if last is None:
        return ()
    # By fit: a fit that was finished twice counts with its last end.
    ends = {manifest.info.fit: (name, manifest) for name, manifest in good if _ends(manifest, last)}
    chosen = [*(ends[fit] for fit in sorted(ends)), (newest, last)]
    return tuple(RestorePoint(name, manifest.info) for name, manifest in chosen)


def _ends(manifest: Manifest, last: Manifest) -> bool:
    return bool(manifest.info.milestone) and manifest.info.fit < last.info.fit


def reached_step(entries: Sequence[Entry]) -> int:
    """The step that the last attempt had reached; -1 when that is not known.

    Attempts that ended before their first step, such as one that was not
    resumed, say nothing about what is executed again.
    """
    reached: dict[int, int] = {}
    for entry in entries:
        reached.setdefault(entry.attempt, -1)
        if isinstance(entry.event, TrainerExited | TrainerStopped):
            reached[entry.attempt] = entry.event.step
    last = [attempt for attempt, step in reached.items() if step != 0]
    return reached[max(last)] if last else -1
