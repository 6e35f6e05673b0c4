"""What the samples of an attempt say of it: the numbers that rules reason with.  Pure."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from pitstop.flight import series
from pitstop.flight.resources import memory_limit_bytes, memory_place
from pitstop.flight.sample import DiskSample, GpuSample, ProcessSample, Sample
from pitstop.flight.series import Point, trend
from pitstop.record import record

RECENT_SECONDS = 60.0
"""The end of an attempt, as far as "recent" goes."""
_MOST_POINTS = 60


@record
class Used:
    """Something over the attempt; slopes are medians, the recent one over the last minute."""

    first: float
    last: float
    peak: float
    recent_per_second: float
    per_second: float


@record
class Summary:
    """An attempt as the flight recorder saw it; None where it could not see.

    Attributes:
        samples: how many there are; the last was taken at `ended_seconds`.
        memory_limit_bytes: the limit that they meet first, `memory_limited_by` "cgroup"
            or "machine"; `memory_left_bytes` was left at the end.
        cpu_share: processors that the trainer kept busy in the last minute.
        input_share: of the steps' time that went into waiting for input, in the last minute.
        children: other processes of the command at the end.
        disks, gpus: as they were at the end.
    """

    samples: int
    began_seconds: float
    ended_seconds: float
    every_seconds: float
    memory: Used | None
    memory_limit_bytes: int | None
    memory_limited_by: str
    memory_left_bytes: int | None
    open_files: Used | None
    open_files_limit: int | None
    tasks: int | None
    cpu_share: float | None
    input_share: float | None
    trainer: ProcessSample | None
    children: int
    disks: tuple[DiskSample, ...]
    gpus: tuple[GpuSample, ...]
    gpu_peak_bytes: dict[int, int]
    python_blocks: Used | None


def summarize(samples: Sequence[Sample]) -> Summary | None:
    if not samples:
        return None
    first, last = samples[0], samples[-1]
    # The very last samples may be of an attempt whose trainer has just gone, or is ending.
    lived = (each for each in reversed(samples) if each.trainer and each.trainer.rss_bytes)
    alive = next(lived, last)
    host, group = alive.host, alive.cgroup
    before = samples[-2] if len(samples) > 1 else first
    return Summary(
        samples=len(samples),
        began_seconds=first.time_seconds,
        ended_seconds=last.time_seconds,
        every_seconds=last.clock_seconds - before.clock_seconds,
        memory=_used(series.memory(samples)),
        memory_limit_bytes=memory_limit_bytes(alive),
        memory_limited_by=memory_place(alive),
        memory_left_bytes=host.left_bytes,
        open_files=_used(series.open_files(samples)),
        open_files_limit=alive.trainer.open_files_limit if alive.trainer else None,
        tasks=group.pids if group else None,
        cpu_share=_recent_mean(series.cpu_share(samples)),
        input_share=_recent_mean(series.input_share(samples)),
        trainer=alive.trainer,
        children=len(alive.command) - 1 if alive.trainer else len(alive.command),
        disks=tuple(last.disks),
        gpus=tuple(last.gpus),
        gpu_peak_bytes=_gpu_peaks(samples),
        python_blocks=_used(series.python_blocks(samples)),
    )


def _used(points: Sequence[Point]) -> Used | None:
    if not points:
        return None
    return Used(
        first=points[0].value,
        last=points[-1].value,
        peak=max(each.value for each in points),
        recent_per_second=_slope(_recent(points)),
        per_second=_slope(points),
    )


def _slope(points: Sequence[Point]) -> float:
    thinned = points[:: -(-len(points) // _MOST_POINTS)] if points else ()
    return trend(thinned).per_second if len(thinned) > 1 else 0.0


def _recent(points: Sequence[Point]) -> list[Point]:
    since = points[-1].time_seconds - RECENT_SECONDS
    return [each for each in points if each.time_seconds >= since]


def _recent_mean(points: Sequence[Point]) -> float | None:
    return statistics.fmean(each.value for each in _recent(points)) if points else None


def _gpu_peaks(samples: Iterable[Sample]) -> dict[int, int]:
    peaks: dict[int, int] = {}
    for gpu in (gpu for sample in samples for gpu in sample.gpus):
        if gpu.used_bytes is not None:
            peaks[gpu.index] = max(peaks.get(gpu.index, 0), gpu.used_bytes)
    return peaks
