"""A checkpoint that this attempt restores."""

from __future__ import annotations

import dataclasses

from pitstop.events import JsonValue, ResumeChosen
from pitstop.record import record
from pitstop.store.manifest import CheckpointInfo


@record
class ChosenCheckpoint:
    """A checkpoint to restore: the folder's name and what its manifest says."""

    checkpoint: str
    info: CheckpointInfo

    def to_json(self) -> dict[str, JsonValue]:
        return {"checkpoint": self.checkpoint, "info": dataclasses.asdict(self.info)}

    def chosen(self) -> ResumeChosen:
        """The event that tells of it."""
        return ResumeChosen(self.info.step, self.info.epoch, self.checkpoint, self.info.level)
