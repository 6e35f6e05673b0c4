"""The batch scheduler, or whatever else lends the machine; written by the supervisor."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.events.base import Event


@dataclass(frozen=True)
class JobSeen(Event):
    """The attempt runs inside of a job.

    scheduler: "slurm", "kubernetes", "lsf", "pbs", "sge" or "colab".
    job: its number or name.
    ends_at_seconds: when its time is up, seconds since the epoch; None when not told.
    facts: what the environment tells of it, by name.
    """

    scheduler: str
    job: str
    ends_at_seconds: float | None = None
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class JobState(Event):
    """What the scheduler says of the job, asked when the command had ended.

    state: in its own words ("TIMEOUT", "CANCELLED by 1000"); empty when it did not tell.
    reason: why, in its own words.
    asked: the commands that were asked.
    problem: why they did not answer.
    """

    scheduler: str
    job: str
    state: str = ""
    reason: str = ""
    asked: list[str] = field(default_factory=list)
    problem: str = ""
