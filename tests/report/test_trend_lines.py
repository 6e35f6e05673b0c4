"""The lines of a timeline that a text shows."""

from __future__ import annotations

import math

from pitstop.diagnosis import CAUSES
from pitstop.report.timeline import Panel, Series, Timeline, Unit
from pitstop.report.trend_lines import course, telling_first

_MEMORY = Panel(
    "memory",
    "Memory",
    Unit.BYTES,
    (Series("processes", ((0.0, 1e9), (1.0, 2e9), (2.0, 3.9e9))),),
    4e9,
    "cgroup limit",
)
_LOSS = Panel(
    "loss",
    "Loss",
    Unit.PLAIN,
    (Series("loss", ((0.0, 2.5), (1.0, 1.0), (2.0, 3.0), (3.0, math.nan))),),
)
_TIMELINE = Timeline(0.0, 3.0, (_LOSS, _MEMORY))


def test_memory_for_a_death_by_memory() -> None:
    [line] = course(_TIMELINE, "host_oom_killed")
    assert (line.name, line.first, line.last) == ("processes", "1.0 GB", "3.9 GB")
    assert line.limit == "cgroup limit 4.0 GB"
    assert (line.line[0], line.line[-1]) == ("▁", "█")


def test_the_loss_for_a_loss_that_became_nan() -> None:
    [line] = course(_TIMELINE, "nan_loss")
    assert (line.first, line.last, line.line[-1]) == ("2.5", "nan", "✕")


def test_every_cause_that_tells_of_something_is_one() -> None:
    assert any(course(_TIMELINE, cause) for cause in CAUSES)
    assert sum(bool(course(_TIMELINE, cause)) for cause in CAUSES) == 7


def test_nothing_where_it_tells_nothing_or_was_not_recorded() -> None:
    assert course(_TIMELINE, "user_code_error") == ()
    assert course(None, "nan_loss") == ()
    assert course(Timeline(0.0, 1.0), "nan_loss") == ()
    short = Panel("loss", "Loss", Unit.PLAIN, (Series("loss", ((0.0, 1.0), (1.0, 2.0))),))
    assert course(Timeline(0.0, 1.0, (short,)), "nan_loss") == ()


def test_what_tells_of_the_end_stands_first() -> None:
    assert [each.id for each in telling_first(_TIMELINE, "host_oom_killed").panels] == [
        "memory",
        "loss",
    ]
    assert telling_first(_TIMELINE, "user_code_error") == _TIMELINE
