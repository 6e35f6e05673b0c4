"""The few lines of a timeline that a text can show: where the end shows in a number.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from pitstop.report.timeline import Panel, Point, Series, Timeline, value_text

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
_BLOCKS = "▁▂▃▄▅▆▇█"
_NOT_FINITE = "✕"


@dataclass(frozen=True)
class CourseLine:
    """How one quantity went, and what it may be at most."""

    name: str
    first: str
    line: str
    last: str
    limit: str = ""

    @property
    def head(self) -> str:
        limit = f"; {self.limit}" if self.limit else ""
        return f"{self.name}: {self.first} to {self.last}{limit}"


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


def sparkline(points: Sequence[Point], width: int) -> str:
    """At most `width` characters: the last value of each equal span of time.

    A span without a sample shows what was before it, one that holds a value which is not
    finite a cross.
    """
    finite = [value for _, value in points if math.isfinite(value)]
    if not finite:
        return ""
    least, most = min(finite), max(finite)
    spans = _spans(points, min(width, len(points)))
    line = ""
    for span in spans:
        line += _sign(span, least, most) or line[-1]
    return line


def _spans(points: Sequence[Point], width: int) -> list[list[float]]:
    start, end = points[0][0], points[-1][0]
    spans: list[list[float]] = [[] for _ in range(width)]
    for seconds, value in points:
        place = (seconds - start) / (end - start) if end > start else 0.0
        spans[min(width - 1, int(place * width))].append(value)
    return spans


def _sign(span: Sequence[float], least: float, most: float) -> str:
    if not span:
        return ""
    if not all(math.isfinite(value) for value in span):
        return _NOT_FINITE
    height = (span[-1] - least) / (most - least) if most > least else 0.5
    return _BLOCKS[min(len(_BLOCKS) - 1, int(height * len(_BLOCKS)))]
