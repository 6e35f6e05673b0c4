"""What is drawn of an attempt: quantities over time, and what happened when.  Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

Point = tuple[float, float]
"""Seconds since the epoch, and a value; NaN and infinities interrupt a line."""


class Unit(StrEnum):
    """How the values of a panel are written."""

    PLAIN = ""
    COUNT = "count"
    BYTES = "bytes"
    SHARE = "share"
    PER_SECOND = "per second"
    CELSIUS = "celsius"


class MarkKind(StrEnum):
    """What sort of thing happened; each has a sign of its own."""

    CHECKPOINT = "checkpoint"
    RESUME = "resume"
    STOP = "stop"
    WARNING = "warning"
    FAULT = "fault"
    END = "end"


@dataclass(frozen=True)
class Series:
    """One quantity.

    Attributes:
        is_dots: measured so seldom that every point is shown.
    """

    name: str
    points: tuple[Point, ...]
    is_dots: bool = False

    @property
    def can_be_drawn(self) -> bool:
        """Whether there is a line, or at least a dot."""
        return len(self.finite()) > (0 if self.is_dots else 1)

    def finite(self) -> tuple[Point, ...]:
        """The points that can be drawn."""
        return tuple(point for point in self.points if math.isfinite(point[1]))


@dataclass(frozen=True)
class Panel:
    """Quantities that share an axis.

    Attributes:
        limit: a value that ends the run when it is reached, None where there is none.
    """

    id: str
    title: str
    unit: Unit
    series: tuple[Series, ...]
    limit: float | None = None
    limit_name: str = ""

    def values(self) -> tuple[float, ...]:
        """Everything that is drawn, the limit not counted."""
        return tuple(value for each in self.series for _, value in each.finite())


@dataclass(frozen=True)
class Mark:
    """Something that happened."""

    seconds: float
    kind: MarkKind
    text: str


@dataclass(frozen=True)
class Timeline:
    """One attempt over time.

    Attributes:
        panels: those that have something to show, the most wanted first.
    """

    started_seconds: float
    ended_seconds: float
    panels: tuple[Panel, ...] = ()
    marks: tuple[Mark, ...] = ()

    @property
    def seconds(self) -> float:
        """How long it took."""
        return max(0.0, self.ended_seconds - self.started_seconds)

    def panel(self, panel_id: str) -> Panel | None:
        """One panel, if there is something to show in it."""
        return next((panel for panel in self.panels if panel.id == panel_id), None)


def panels_with_values(panels: Iterable[Panel]) -> tuple[Panel, ...]:
    """The panels that have a line to draw, without their empty series."""
    kept = (
        Panel(
            each.id,
            each.title,
            each.unit,
            tuple(series for series in each.series if series.can_be_drawn),
            each.limit,
            each.limit_name,
        )
        for each in panels
    )
    return tuple(panel for panel in kept if panel.values())
