"""Where an attempt continues: which checkpoints the trainer restores.  Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
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
    """The states to restore: of each training its end or, where it has none, its newest state.

    The one that was loaded comes last.  A script may leave out what was interrupted last, and
    come back to it: states of trainings that did not end are kept, whatever came behind them;
    not those of loops, which are known by their number.

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
    states: dict[int, tuple[str, Manifest]] = {}
    for name, manifest in good:
        counts = manifest.info.milestone or manifest.info.identity or manifest is last
        if counts and manifest.sequence <= last.sequence and not _has_ended(manifest, states):
            states[manifest.info.fit] = name, manifest
    states.pop(last.info.fit, None)
    chosen = [*(states[fit] for fit in sorted(states)), (newest, last)]
    return tuple(RestorePoint(name, manifest.info) for name, manifest in chosen)


def _has_ended(manifest: Manifest, states: Mapping[int, tuple[str, Manifest]]) -> bool:
    """Whether a training has ended already, so that a state in its middle says nothing."""
    known = states.get(manifest.info.fit)
    ended = known is not None and bool(known[1].info.milestone)
    return ended and not manifest.info.milestone


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
