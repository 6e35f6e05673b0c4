"""What the attempts before left behind that a new one needs.  Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field

from pitstop.engine.weights_file import STARTED_FROM
from pitstop.events import (
    AttemptStarted,
    CheckpointCommitted,
    EnvironmentChanged,
    EpochEnded,
    GangFormed,
    JsonValue,
    Notice,
    TrainerConnected,
    TrainerExited,
    TrainerStopped,
)
from pitstop.journal import Entry, events_of
from pitstop.record import record
from pitstop.supervisor.records import fingerprint
from pitstop.supervisor.records.losses import NO_LOSSES, Losses


@record
class History:
    """The attempts before this one, as far as they matter to it.

    Attributes:
        reached_step: step that the last one had reached, -1 when not known.
        environment: its fingerprint.
        versions: library versions of the last one that trained.
        save_seconds: what the newest checkpoint took to write, 0 when there is none.
        start_from: the saved weights that the run began with, or empty.
    """

    reached_step: int = -1
    environment: Mapping[str, JsonValue] = field(default_factory=dict)
    versions: Mapping[str, str] = field(default_factory=dict)
    save_seconds: float = 0.0
    epochs: tuple[EpochEnded, ...] = ()
    losses: Losses = NO_LOSSES
    start_from: str = ""
    gangs: Mapping[int, GangFormed] = field(default_factory=dict)

    @classmethod
    def from_entries(cls, entries: Sequence[Entry]) -> History:
        started = events_of(entries, AttemptStarted)
        connected = events_of(entries, TrainerConnected)
        committed = events_of(entries, CheckpointCommitted)
        return cls(
            reached_step=reached_step(entries),
            environment=started[-1].environment if started else {},
            versions=_all_versions(connected[-1]) if connected else {},
            save_seconds=committed[-1].seconds if committed else 0.0,
            epochs=tuple(events_of(entries, EpochEnded)),
            losses=Losses.from_entries(entries),
            start_from=_start_from(entries),
            gangs={
                each.attempt: each.event for each in entries if isinstance(each.event, GangFormed)
            },
        )

    def environment_changes(
        self, environment: Mapping[str, JsonValue]
    ) -> tuple[EnvironmentChanged, ...]:
        return fingerprint.compare(self.environment, environment)

    def version_changes(self, event: TrainerConnected) -> tuple[EnvironmentChanged, ...]:
        """Which libraries differ from those of the last attempt that trained."""
        return fingerprint.compare(self.versions, _all_versions(event))


def _start_from(entries: Sequence[Entry]) -> str:
    """What the last attempt named that took weights over; one that was refused does not count."""
    taken = {
        each.attempt
        for each in entries
        if isinstance(each.event, Notice) and each.event.code == STARTED_FROM
    }
    named = [
        each.event.start_from
        for each in entries
        if isinstance(each.event, AttemptStarted) and each.attempt in taken
    ]
    return named[-1] if named else ""


def _all_versions(event: TrainerConnected) -> dict[str, str]:
    return {"python": event.python, **event.versions}


def reached_step(entries: Sequence[Entry]) -> int:
    """The step that the last attempt had reached; -1 when that is not known.

    Attempts that ended before their first step say nothing about what is executed again.
    """
    reached: dict[int, int] = {}
    for entry in entries:
        reached.setdefault(entry.attempt, -1)
        if isinstance(entry.event, TrainerExited | TrainerStopped):
            reached[entry.attempt] = entry.event.step
    last = [attempt for attempt, step in reached.items() if step != 0]
    return reached[max(last)] if last else -1
