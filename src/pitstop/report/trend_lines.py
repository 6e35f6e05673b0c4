"""The few lines of a timeline that a text can show: where the end shows in a number.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from pitstop.report.sparkline import sparkline
from pitstop.report.timeline import Panel, Series, Timeline
from pitstop.report.values import value_text

MEMORY, GPU_MEMORY, LOSS, SPEED = "memory", "gpu_memory", "loss", "speed"
DISK, OPEN_FILES = "disk", "open_files"
_WIDTH = 40
_FEWEST_POINTS = 3

_TELLING: Mapping[str, tuple[str, ...]] = {
    "nan_loss": (LOSS,),
    "early_stopping_or_callback_stop": (LOSS,),
    "host_oom_killed": (MEMORY,),
    "host_alloc_failure": (MEMORY,),
    "gpu_oom": (GPU_MEMORY,),
    "killed_from_outside": (MEMORY,),
    "disk_full": (DISK,),
    "shm_exhausted": (DISK, MEMORY),
    "too_many_open_files": (OPEN_FILES,),
    "hang_or_stall": (SPEED,),
    "worker_lost": (SPEED,),
    "unknown": (MEMORY, LOSS),
}
"""Panels that a person would look at first, by cause."""


@dataclass(frozen=True)
class CourseLine:
    """How one quantity went.

    Attributes:
        limit: what it may be at most, or empty.
    """

    name: str
    first: str
    line: str
    last: str
    limit: str = ""


def course(timeline: Timeline | None, cause: str) -> tuple[CourseLine, ...]:
    """The quantities that tell of an end for this cause; none for most."""
    return tuple(_lines(timeline, cause)) if timeline else ()


def telling_first(timeline: Timeline, cause: str) -> Timeline:
    """The timeline with the panels that tell of an end for this cause above the others."""
    telling = _TELLING.get(cause, ())
    panels = sorted(timeline.panels, key=lambda panel: panel.id not in telling)
    return replace(timeline, panels=tuple(panels))


def _lines(timeline: Timeline, cause: str) -> Iterator[CourseLine]:
    for name in _TELLING.get(cause, ()):
        panel = timeline.panel(name)
        series = panel.series[0] if panel else None
        if panel and series and len(series.finite()) >= _FEWEST_POINTS:
            yield _line(panel, series)


def _line(panel: Panel, series: Series) -> CourseLine:
    last = series.points[-1][1]
    limit = panel.limit
    return CourseLine(
        series.name,
        value_text(series.finite()[0][1], panel.unit),
        sparkline(series.points, _WIDTH),
        value_text(last, panel.unit) if math.isfinite(last) else str(last),
        "" if limit is None else f"{panel.limit_name} {value_text(limit, panel.unit)}",
    )
