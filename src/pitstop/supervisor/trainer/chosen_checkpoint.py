"""Where an attempt continues: which checkpoints the trainer restores.  Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from pitstop.events import JsonValue, ResumeChosen
from pitstop.record import record
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.manifest import CheckpointInfo, Manifest


@record
class ChosenCheckpoint:
    """A checkpoint to restore: the folder's name and what its manifest says."""

    checkpoint: str
    info: CheckpointInfo

    def to_json(self) -> dict[str, JsonValue]:
        return {"checkpoint": self.checkpoint, "info": dataclasses.asdict(self.info)}

    def chosen(self) -> ResumeChosen:
        return ResumeChosen(self.info.step, self.info.epoch, self.checkpoint, self.info.level)


def restore_points(entries: Iterable[CheckpointEntry], newest: str) -> tuple[ChosenCheckpoint, ...]:
    """The states to restore: of each training its newest, which is its end where it has one.

    The one that was loaded, `newest`, comes last; nothing behind it is considered.  A script may
    leave out what was interrupted last, and come back to it: states of trainings that did not end
    are kept, whatever came behind them; not those of loops, which are known by their number.
    """
    good = sorted(
        ((entry.path.name, entry.manifest) for entry in entries if entry.manifest),
        key=lambda pair: pair[1].sequence,
    )
    last = next((manifest for name, manifest in good if name == newest), None)
    if last is None:
        return ()
    states: dict[int, tuple[str, Manifest]] = {}
    for name, manifest in good:
        counts = manifest.info.milestone or manifest.info.identity or manifest is last
        if counts and manifest.sequence <= last.sequence:
            states[manifest.info.fit] = name, manifest
    states.pop(last.info.fit, None)
    chosen = [*(states[fit] for fit in sorted(states)), (newest, last)]
    return tuple(ChosenCheckpoint(name, manifest.info) for name, manifest in chosen)
