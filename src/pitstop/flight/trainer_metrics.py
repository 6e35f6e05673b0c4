"""What the process that trains tells of itself, now and then (the message `VitalsReport`)."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.flight.sample import AllocatorSample
from pitstop.link.messages import VitalsReport


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
    def from_report(cls, report: VitalsReport, time_seconds: float) -> TrainerMetrics:
        """What a message said at this time, since the epoch."""
        allocators = [AllocatorSample(**each) for each in report.allocators]
        return cls(**{**vars(report), "allocators": allocators, "time_seconds": time_seconds})
