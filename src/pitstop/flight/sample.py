"""One look at a run and its machine: frozen values, None where nothing could be read."""

from collections.abc import Iterator
from dataclasses import field
from typing import Annotated, TypeAlias

from pitstop.link.messages import AllocatorSample
from pitstop.record import Frozen

# A value that the training reported; it need not be finite: "nan" and "inf" are text in a file
Told: TypeAlias = Annotated[float, lambda _, value: float(value)]
MEMORY, DISK, OPEN_FILES, TASKS = "memory", "disk", "open_files", "tasks"


class Resource(Frozen):
    # "memory" or "disk" (bytes), "open_files" (descriptors of the trainer) or "tasks" (processes
    # and threads)
    name: str
    place: str  # which one: the mount, "cgroup" or "machine"
    used: float  # what counts towards a growth
    left: float  # how much more there may be

    @property
    def key(self) -> tuple[str, str]:
        return self.name, self.place


TRAINER, CHILD = "trainer", "child"
"""Roles of the processes that belong to the user's command; others are Pitstop's own."""


class ProcessSample(Frozen):
    pid: int
    # "trainer" (the process that trains), "child" (what else the command started: data workers),
    # "supervisor", "persister", "uploader"
    role: str
    name: str  # as the kernel knows it, at most 15 characters
    state: str  # one letter: R runs, S sleeps, D waits for a device, T is stopped, Z has ended
    rss_bytes: int = 0  # memory that it occupies, shared pages counted in each process
    # anonymous and shared memory and what of it is swapped out: what does not go away by dropping
    # the cache of files
    private_bytes: int = 0
    cpu_seconds: float = 0.0
    threads: int = 0
    open_files: int | None = None  # descriptors; None where they may not be counted
    open_files_limit: int | None = None


class CgroupSample(Frozen):
    version: int
    usage_bytes: int | None = None  # memory charged; of which `cache_bytes` is cache of files
    limit_bytes: int | None = None  # the least of it and its ancestors, None without one
    cache_bytes: int | None = None
    pids: int | None = None  # tasks in it, and the most there may be
    pids_limit: int | None = None


class HostSample(Frozen):
    total_bytes: int | None = None
    available_bytes: int | None = None
    left_bytes: int | None = None  # the same for this run: less where a cgroup leaves less


class DiskSample(Frozen):
    mount: str
    kind: str
    used_by: list[str]  # "run", "cwd", "tmp", "shm", or "files" for files that the trainer has open
    size_bytes: int = 0
    free_bytes: int = 0
    read_only: bool = False
    answers: bool = True  # False while it does not answer; the numbers are the last ones known


class GpuSample(Frozen):
    index: int
    name: str
    used_bytes: int | None = None
    total_bytes: int | None = None
    own_bytes: int | None = None
    utilization: float | None = None  # share of the last moments in which it computed
    throttled: list[str] = field(default_factory=list)  # why its clock is held down
    ecc_errors: int | None = None
    xid: int | None = None  # last critical error of the run, see NVIDIA's list of Xids


class TrainingSample(Frozen):
    """Where the training is, and what it reported last."""

    step: int  # steps completed over the whole run
    # `fit`, `epoch`: both counted from 0; `epochs` 0 when not known
    fit: int
    epoch: int
    epochs: int
    step_in_epoch: int
    steps_per_epoch: int
    phase: str  # name of a `link.beacon.Phase`, in lower case
    loss: Told | None = None  # None when it is not known; it may be no number
    rate: float | None = None
    snapshot_step: int | None = None
    checkpoint_step: int | None = None
    metrics: dict[str, Told] = field(default_factory=dict)
    learning_rate: Told | None = None
    input_seconds: float | None = None  # waited for input, all in all, as far as that is measured
    # steps took, all in all, waiting for input included, in the same time; None where the input's
    # share is not measured
    step_seconds: float | None = None
    python_blocks: int | None = None
    allocators: list[AllocatorSample] = field(default_factory=list)
    log_folder: str = ""  # where the script's TensorBoard callback writes; empty without one


class Sample(Frozen):
    number: int
    time_seconds: float
    clock_seconds: float  # CLOCK_MONOTONIC; differences of it are true when the clock is set
    training: TrainingSample | None = None
    processes: list[ProcessSample] = field(default_factory=list)
    cgroup: CgroupSample | None = None
    host: HostSample = HostSample()
    disks: list[DiskSample] = field(default_factory=list)
    gpus: list[GpuSample] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)  # what could not be read, one phrase each

    @property
    def trainer(self) -> ProcessSample | None:
        return next((each for each in self.processes if each.role == TRAINER), None)

    @property
    def command(self) -> list[ProcessSample]:
        return [each for each in self.processes if each.role in (TRAINER, CHILD)]

    @property
    def memory_bytes(self) -> int:
        """What the processes of the user's command occupy; shared pages count in each."""
        return sum(each.rss_bytes for each in self.command)


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
    host = sample.host
    bounded = host.left_bytes is not None and host.left_bytes != host.available_bytes
    return "cgroup" if bounded else "machine"


def memory_limit_bytes(sample: Sample) -> int | None:
    if memory_place(sample) == "cgroup" and sample.cgroup:
        return sample.cgroup.limit_bytes
    return sample.host.total_bytes
