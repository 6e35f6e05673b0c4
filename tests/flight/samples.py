"""Samples for tests: as a recorder would have taken them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from pitstop.flight.sample import (
    CgroupSample,
    DiskSample,
    GpuSample,
    HostSample,
    ProcessSample,
    Sample,
    TrainingSample,
)
from pitstop.link.messages import AllocatorSample

ALL = 1 << 30
"""More samples than there are."""

TRAINING = TrainingSample(
    step=100,
    fit=0,
    epoch=1,
    epochs=10,
    step_in_epoch=20,
    steps_per_epoch=80,
    phase="train",
    loss=0.5,
    rate=20.0,
    snapshot_step=90,
    checkpoint_step=60,
    metrics={"loss": 0.5, "accuracy": 0.9},
    learning_rate=1e-3,
    input_seconds=1.0,
    step_seconds=5.0,
    python_blocks=200_000,
    allocators=[AllocatorSample("GPU:0", 1 << 20, 1 << 21)],
    log_folder="/logs",
)
TRAINER = ProcessSample(
    pid=10,
    role="trainer",
    name="python",
    state="R",
    rss_bytes=2_000_000_000,
    private_bytes=1_500_000_000,
    cpu_seconds=50.0,
    threads=40,
    open_files=30,
    open_files_limit=1024,
)
CHILD = replace(TRAINER, pid=11, role="child", rss_bytes=500_000_000, private_bytes=100_000_000)
PERSISTER = replace(TRAINER, pid=12, role="persister")
SAMPLE = Sample(
    number=0,
    time_seconds=1_764_000_000.0,
    clock_seconds=1000.0,
    training=TRAINING,
    processes=[TRAINER, CHILD, PERSISTER],
    cgroup=CgroupSample(2, 3_000_000_000, 4_000_000_000, pids=50, pids_limit=100),
    host=HostSample(
        total_bytes=8_000_000_000,
        available_bytes=5_000_000_000,
        left_bytes=1_000_000_000,
    ),
    disks=[DiskSample("/", "ext4", ["run", "tmp"], 100_000_000_000, 40_000_000_000)],
    gpus=[GpuSample(0, "H200", 10, 100, 5, 0.9, ["SwPowerCap"], 0, 79)],
    missing=["who sent it"],
)


def at(second: int, *, training: dict[str, Any] | None = None, **changes: Any) -> Sample:
    """The sample of a second of the attempt, with some things otherwise."""
    return replace(
        SAMPLE,
        number=second,
        time_seconds=SAMPLE.time_seconds + second,
        clock_seconds=SAMPLE.clock_seconds + second,
        training=replace(TRAINING, **(training or {})),
        **changes,
    )
