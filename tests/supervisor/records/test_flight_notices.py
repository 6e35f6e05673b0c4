"""Forecasts in the user's words."""

from __future__ import annotations

from dataclasses import replace

from pitstop.events import ExhaustionForecast
from pitstop.supervisor.records.notices import line_for, short_forecast

LEAK = ExhaustionForecast(
    resource="memory",
    place="cgroup",
    used=1.1e9,
    left=2.9e9,
    per_second=1.2e6,
    seconds_left=2400.0,
    window_seconds=840.0,
    step=5000,
)


def test_a_leak() -> None:
    assert line_for(LEAK) == (
        "out of memory in about 40 minutes: use has grown by 1.2 MB each second for 14 minutes; "
        "2.9 GB are left of its cgroup."
    )
    assert short_forecast(LEAK) == "out of memory in about 40 minutes"


def test_a_leak_of_python_objects() -> None:
    line = line_for(replace(LEAK, growing="python"))
    assert "for 14 minutes, as have Python's objects; " in line


def test_what_is_slow_is_told_by_the_hour() -> None:
    slow = replace(LEAK, resource="disk", place="/data", per_second=5e3, seconds_left=580_000.0)
    assert line_for(slow) == (
        "out of disk space in about 7 days: use has grown by 18.0 MB each hour for 14 minutes; "
        "2.9 GB are left on /data."
    )


def test_what_is_counted_is_no_size() -> None:
    files = replace(LEAK, resource="open_files", place="", left=900.0, per_second=0.5)
    assert "30 each minute for 14 minutes; 900 are left." in line_for(files)
