"""What is plotted: losses, metrics, step rate; memory, processors, input, GPUs.  Pure."""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from pitstop.events import EpochEnded, ExhaustionForecast
from pitstop.flight import series
from pitstop.flight.sample import MEMORY, Sample, memory_limit_bytes, memory_place
from pitstop.journal import Entry
from pitstop.report.timeline import (
    Panel,
    Point,
    Series,
    Timeline,
    Unit,
    marks,
    panels_with_values,
    thin,
)
from pitstop.steps import StepRecord

COLUMNS = 120  # spans of time that a line is thinned to

_LARGEST = 1e300
_VALIDATION = "val_"
_MOST_METRICS = 2
_NOT_METRICS = ("loss", "learning_rate", "lr")


def timeline_of(
    own: Sequence[Entry],
    records: Sequence[StepRecord],
    samples: Sequence[Sample],
    now_seconds: float = 0.0,
    forecasts: Sequence[ExhaustionForecast] = (),
) -> Timeline:
    """What is drawn of an attempt; `now_seconds` and `forecasts` of one that is under way."""
    stepped = [each.time_seconds for each in records[-1:]]
    sampled = [each.time_seconds for each in samples[-1:]]
    ended = max(now_seconds, own[-1].time_seconds, *stepped, *sampled)
    panels = (*training_panels(records, own, ended), *resource_panels(samples))
    drawn = tuple(forecast_drawn(panel, forecasts, ended) for panel in panels)
    return Timeline(own[0].time_seconds, ended, drawn, marks(own))


def training_panels(
    records: Sequence[StepRecord], entries: Iterable[Entry], ended_seconds: float
) -> tuple[Panel, ...]:
    epochs = [(each.time_seconds, each.event) for each in entries]
    ended = [(seconds, event) for seconds, event in epochs if isinstance(event, EpochEnded)]
    losses = tuple((each.time_seconds, drawable(each.loss)) for each in records)
    loss = (Series("loss", thin(losses, COLUMNS)), _of_epochs(ended, "val_loss"))
    speed = Series("steps per second", step_rate(records, ended_seconds))
    return panels_with_values(
        (
            Panel("loss", "Loss", Unit.PLAIN, loss),
            Panel("metrics", "Metrics", Unit.PLAIN, _metrics(ended)),
            Panel("speed", "Speed", Unit.PER_SECOND, (speed,)),
        )
    )


def drawable(value: float) -> float:
    """The value; an infinity for one so large that differences of two have no number."""
    return math.inf if abs(value) > _LARGEST else value


def step_rate(records: Sequence[StepRecord], ended_seconds: float) -> tuple[Point, ...]:
    if len(records) < 2 or records[-1].time_seconds <= records[0].time_seconds:
        return ()
    start, end = records[0].time_seconds, max(ended_seconds, records[-1].time_seconds)
    spans = min(COLUMNS, len(records) - 1)
    edges = [start + (end - start) * index / spans for index in range(spans + 1)]
    steps = _steps_at(records, edges)
    rates = [max(0.0, after - before) * spans / (end - start) for before, after in pairwise(steps)]
    return tuple(((a + b) / 2, rate) for (a, b), rate in zip(pairwise(edges), rates, strict=True))


def _steps_at(records: Sequence[StepRecord], times: Sequence[float]) -> list[float]:
    found: list[float] = []
    index = 0
    for seconds in times:
        while index < len(records) - 2 and records[index + 1].time_seconds <= seconds:
            index += 1
        one, other = records[index], records[index + 1]
        span = other.time_seconds - one.time_seconds
        share = 1.0 if span <= 0 else (seconds - one.time_seconds) / span
        found.append(one.step + (other.step - one.step) * min(1.0, max(0.0, share)))
    return found


def _metrics(ended: Sequence[tuple[float, EpochEnded]]) -> tuple[Series, ...]:
    names = dict.fromkeys(name for _, event in ended for name in event.logs)
    plain = [name for name in names if not name.startswith(_VALIDATION)]
    chosen = [name for name in plain if name not in _NOT_METRICS][:_MOST_METRICS]
    pairs = (name for each in chosen for name in (each, _VALIDATION + each))
    return tuple(_of_epochs(ended, name) for name in pairs if name in names)


def _of_epochs(ended: Sequence[tuple[float, EpochEnded]], name: str) -> Series:
    points = sorted(
        (seconds, drawable(event.logs[name])) for seconds, event in ended if name in event.logs
    )
    return Series(name, thin(points, COLUMNS), is_dots=True)


_MOST_GPUS = 4
_MOST_DISKS = 3
_SCARCE = 0.1
FORECAST_WINDOWS = 0.5  # how far ahead a forecast is drawn, in the windows that it looked back


def resource_panels(samples: Sequence[Sample]) -> tuple[Panel, ...]:
    # A sample without memory was taken after the processes had ended.
    lived = sorted(
        (each for each in samples if each.memory_bytes), key=lambda each: each.time_seconds
    )
    return panels_with_values(_panels(lived)) if lived else ()


def forecast_drawn(
    panel: Panel, forecasts: Sequence[ExhaustionForecast], now_seconds: float
) -> Panel:
    """The panel with a line to its limit, where that is going to be met."""
    for each in forecasts:
        if panel.id == each.resource == MEMORY and panel.limit is not None:
            ahead = min(each.seconds_left, FORECAST_WINDOWS * each.window_seconds)
            start = panel.limit - each.left
            end = (now_seconds + ahead, start + each.per_second * ahead)
            line = Series("forecast", ((now_seconds, start), end), is_forecast=True)
            return replace(panel, series=(*panel.series, line))
    return panel


def _panels(samples: Sequence[Sample]) -> Iterator[Panel]:
    yield _memory(samples)
    yield _shares(
        "input", "Waiting for input", _series("share of a step", series.input_share(samples))
    )
    yield _shares("cpu", "Processors", _series("trainer, 100% is one", series.cpu_share(samples)))
    gpus = sorted({gpu.index for each in samples for gpu in each.gpus})[:_MOST_GPUS]
    yield _gpu_memory(samples, gpus)
    yield _shares("gpu", "GPU", *_of_gpus(samples, gpus, "utilization"))
    yield _learning_rate(samples)
    yield _disks(samples)
    yield _open_files(samples)


def _memory(samples: Sequence[Sample]) -> Panel:
    group = memory_place(samples[-1]) == "cgroup"
    processes = _series("the command's processes", series.memory(samples))
    # Bytes that count for the limit of the cgroup and cannot be dropped like a cache.
    counted = [
        (each.time_seconds, float(each.cgroup.usage_bytes - (each.cgroup.cache_bytes or 0)))
        for each in samples
        if each.cgroup and each.cgroup.usage_bytes is not None
    ]
    charged = Series("charged to the cgroup", thin(counted, COLUMNS))
    lines = (charged, processes) if group and charged.points else (processes,)
    limit = memory_limit_bytes(samples[-1])
    name = "cgroup limit" if group else "machine has"
    most = None if limit is None else float(limit)
    return Panel(MEMORY, "Memory", Unit.BYTES, lines, most, name)


def _gpu_memory(samples: Sequence[Sample], gpus: Sequence[int]) -> Panel:
    lines = tuple(_of_gpus(samples, gpus, "used_bytes"))
    totals = [gpu.total_bytes for gpu in samples[-1].gpus if gpu.total_bytes is not None]
    limit = float(min(totals)) if totals else None
    return Panel("gpu_memory", "GPU memory", Unit.BYTES, lines, limit, "GPU has")


def _learning_rate(samples: Sequence[Sample]) -> Panel:
    points = series.learning_rate(samples)
    changes = len({each.value for each in points}) > 1
    lines = (_series("learning rate", points),) if changes else ()
    return Panel("learning_rate", "Learning rate", Unit.PLAIN, lines)


def _disks(samples: Sequence[Sample]) -> Panel:
    scarce = {
        disk.mount: None
        for each in samples
        for disk in each.disks
        if disk.free_bytes < _SCARCE * disk.size_bytes
    }
    lines = tuple(_series(mount, series.disk_free(samples, mount)) for mount in scarce)
    return Panel("disk", "Disk space left", Unit.BYTES, lines[:_MOST_DISKS])


def _open_files(samples: Sequence[Sample]) -> Panel:
    points = series.open_files(samples)
    limits = [each.trainer.open_files_limit for each in samples if each.trainer]
    limit = limits[-1] if limits else None
    is_near = limit is not None and any(each.value > limit / 2 for each in points)
    lines = (_series("of the trainer", points),) if is_near else ()
    most = None if limit is None else float(limit)
    return Panel("open_files", "Open files", Unit.COUNT, lines, most, "limit")


def _of_gpus(samples: Sequence[Sample], gpus: Sequence[int], name: str) -> Iterator[Series]:
    return (_series(f"GPU {index}", series.of_gpu(samples, index, name)) for index in gpus)


def _shares(panel_id: str, title: str, *lines: Series) -> Panel:
    return Panel(panel_id, title, Unit.SHARE, lines)


def _series(name: str, points: series.Series) -> Series:
    return Series(name, thin([(each.time_seconds, each.value) for each in points], COLUMNS))
