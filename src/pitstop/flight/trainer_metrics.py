"""What the process that trains tells of itself, now and then."""

from __future__ import annotations

from dataclasses import dataclass, field

from pitstop.flight.sample import AllocatorSample
from pitstop.link.messages import VitalsReport


@dataclass(frozen=True)
class TrainerMetrics:
    """Its last message, and when it came (seconds since the epoch); None before the first."""

    time_seconds: float | None = None
    report: VitalsReport = field(default_factory=VitalsReport)

    @property
    def allocators(self) -> list[AllocatorSample]:
        """The memory of its devices."""
        return [AllocatorSample(**each) for each in self.report.allocators]
