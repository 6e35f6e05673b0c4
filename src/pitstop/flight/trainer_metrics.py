"""What the process that trains tells of itself, now and then (the message "vitals")."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from pitstop.flight.sample import AllocatorSample


@dataclass(frozen=True)
class TrainerMetrics:
    """The last such message; see `TrainingSample` for the fields.

    Attributes:
        log_folder: where the script's TensorBoard callback writes; empty without one.
    """

    time_seconds: float
    metrics: dict[str, float] = field(default_factory=dict)
    learning_rate: float | None = None
    input_seconds: float | None = None
    step_seconds: float | None = None
    python_blocks: int | None = None
    allocators: list[AllocatorSample] = field(default_factory=list)
    log_folder: str = ""

    @classmethod
    def from_body(cls, body: dict[str, Any]) -> TrainerMetrics:
        """From a message of the same version."""
        allocators = [AllocatorSample(**each) for each in body.get("allocators", ())]
        return cls(**{**body, "allocators": allocators})
