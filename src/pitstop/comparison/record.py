"""What one run left behind, as far as a comparison needs it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pitstop.comparison.trace import Trace
from pitstop.events import EnvironmentChanged, JsonValue
from pitstop.store.manifest import Manifest, TensorEntry


@dataclass(frozen=True)
class Place:
    """Where in the training a checkpoint was taken; the same place holds the same state."""

    step: int
    fit: int
    epoch: int
    step_in_epoch: int
    stage: str
    milestone: str


@dataclass(frozen=True)
class Saved:
    """A checkpoint.

    Attributes:
        tensors: the variables, by name; their checksums are of the present format.
        facts: the rest of the state: digest by what it is.
        read_ahead: Python code feeds the training, and may have drawn from the
            random streams ahead of the step.
    """

    place: Place
    path: Path
    manifest: Manifest
    tensors: Mapping[str, TensorEntry]
    facts: Mapping[str, str]
    read_ahead: bool


@dataclass(frozen=True)
class Resume:
    """Where an attempt went on, and how exactly (see `events.Restored`)."""

    step: int
    lost_steps: int
    level: str
    reason: str


@dataclass(frozen=True)
class RunRecord:
    """One run.

    Attributes:
        environment: the fingerprint and the versions of its last attempt.
        environment_changes: what changed between its attempts.
        unreadable: checkpoints that were left out, and why.
    """

    name: str
    completed: bool
    trace: Trace
    saved: Mapping[Place, Saved] = field(default_factory=dict)
    resumes: tuple[Resume, ...] = ()
    environment: Mapping[str, JsonValue] = field(default_factory=dict)
    environment_changes: tuple[EnvironmentChanged, ...] = ()
    unreadable: tuple[str, ...] = ()
