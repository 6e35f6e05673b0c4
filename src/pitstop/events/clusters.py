"""The part of a process in a cluster of TensorFlow."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pitstop.events.base import Event

_PARTS: Mapping[str, str] = {
    "member": "is a member of a cluster (tf.distribute.Server)",
    "server": "waits for the requests of a cluster (in join)",
    "coordinator": "coordinates parameter servers (ClusterCoordinator)",
    "monitored_session": "trains in a MonitoredSession",
}


@dataclass(frozen=True)
class RoleTaken(Event):
    """A process has a part in a training whose steps are not seen, and which is not saved.

    role: "member", "server", "coordinator" or "monitored_session".
    task: what TF_CONFIG says that it is ("worker 1"), or empty.
    """

    role: str
    pid: int
    task: str = ""

    @property
    def part(self) -> str:
        """What the process does, to follow its name."""
        task = f" as {self.task}" if self.task else ""
        return f"{_PARTS.get(self.role, 'has a part in a cluster')}{task}"
