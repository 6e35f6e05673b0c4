"""What a run can run out of, as one sample shows it.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.flight.sample import Sample
from pitstop.record import record

MEMORY, DISK, OPEN_FILES, TASKS = "memory", "disk", "open_files", "tasks"


@record
class Resource:
    """Something limited.

    Attributes:
        name: "memory" or "disk" (bytes), "open_files" (descriptors of the trainer) or
            "tasks" (processes and threads).
        place: which one: the mount, "cgroup" or "machine".
        used: what counts towards a growth.
        left: how much more there may be.
    """

    name: str
    place: str
    used: float
    left: float

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.place


def resources(sample: Sample) -> Iterator[Resource]:
    left = sample.host.left_bytes
    if left is not None and sample.command:
        used = sum(process.private_bytes for process in sample.command)
        yield Resource(MEMORY, memory_place(sample), used, left)
    for disk in sample.disks:
        if disk.answers and not disk.read_only and disk.size_bytes:
            yield Resource(DISK, disk.mount, disk.size_bytes - disk.free_bytes, disk.free_bytes)
    trainer, group = sample.trainer, sample.cgroup
    if trainer and trainer.open_files is not None and trainer.open_files_limit is not None:
        left = trainer.open_files_limit - trainer.open_files
        yield Resource(OPEN_FILES, "", trainer.open_files, left)
    if group and group.pids is not None and group.pids_limit is not None:
        yield Resource(TASKS, "cgroup", group.pids, group.pids_limit - group.pids)


def memory_place(sample: Sample) -> str:
    """Whose memory is the less: "cgroup" or "machine"."""
    host = sample.host
    bounded = host.left_bytes is not None and host.left_bytes != host.available_bytes
    return "cgroup" if bounded else "machine"


def memory_limit_bytes(sample: Sample) -> int | None:
    """The limit that the memory of the run meets first; None where neither is known."""
    if memory_place(sample) == "cgroup" and sample.cgroup:
        return sample.cgroup.limit_bytes
    return sample.host.total_bytes
