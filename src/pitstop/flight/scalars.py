"""What TensorBoard is shown of a run's resources and life.  Pure."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.flight import series
from pitstop.flight.sample import Sample, TrainingSample

_PREFIX = "pitstop/"


def scalars(before: Sample | None, sample: Sample) -> dict[str, float]:
    """Numbers by their tags; rates need an earlier sample."""
    found = {**dict(_levels(sample)), **dict(_rates(before, sample) if before else ())}
    return {f"{_PREFIX}{name}": float(value) for name, value in found.items()}


def _levels(sample: Sample) -> Iterator[tuple[str, float]]:
    trainer, group = sample.trainer, sample.cgroup
    yield "memory_mb", sample.memory_bytes / 1e6
    if sample.host.left_bytes is not None:
        yield "memory_left_mb", sample.host.left_bytes / 1e6
    if group is not None and group.usage_bytes is not None:
        yield "cgroup_memory_mb", group.usage_bytes / 1e6
    if trainer is not None:
        yield "threads", trainer.threads
        yield "open_files", trainer.open_files or 0
    for disk in sample.disks:
        if "run" in disk.used_by:
            yield "disk_free_mb", disk.free_bytes / 1e6
    for gpu in sample.gpus:
        yield f"gpu{gpu.index}/memory_mb", (gpu.used_bytes or 0) / 1e6
        yield f"gpu{gpu.index}/utilization", gpu.utilization or 0.0
    if sample.training is not None:
        yield from _life(sample.training)


def _life(training: TrainingSample) -> Iterator[tuple[str, float]]:
    if training.checkpoint_step is not None:
        yield "checkpoint_step", training.checkpoint_step
    if training.snapshot_step is not None:
        yield "snapshot_step", training.snapshot_step
    if training.learning_rate is not None:
        yield "learning_rate", training.learning_rate


def _rates(before: Sample, sample: Sample) -> Iterator[tuple[str, float]]:
    pair = (before, sample)
    for name, found in (
        ("steps_per_second", series.step_rate(pair)),
        ("cpu", series.cpu_share(pair)),
        ("input_share", series.input_share(pair)),
    ):
        if found:
            yield name, found[-1].value
