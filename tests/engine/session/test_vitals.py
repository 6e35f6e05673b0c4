"""What the trainer tells now and then."""

from __future__ import annotations

import sys
import time
from typing import Any

from pitstop.engine.session.step_recorder import Vitals
from pitstop.link.messages import AllocatorSample, VitalsReport


class Wire:
    """Takes messages."""

    def __init__(self) -> None:
        self.reports: list[VitalsReport] = []

    def send(self, report: VitalsReport) -> None:
        self.reports.append(report)


def test_it_is_due_at_once_and_then_after_the_interval() -> None:
    wire = Wire()
    vitals = Vitals(wire.send, 5.0)
    assert vitals.due_ns <= time.monotonic_ns()
    vitals.tell(lambda: {"metrics": {"loss": 0.5}})
    assert vitals.due_ns > time.monotonic_ns() + 4_000_000_000
    [report] = wire.reports
    assert report.python_blocks is not None
    assert abs(report.python_blocks - sys.getallocatedblocks()) < 10_000


def test_off_is_never() -> None:
    assert Vitals(Wire().send, 0.0).due_ns > time.monotonic_ns() + 10**18


def test_what_is_dear_is_told_less_often() -> None:
    def dear() -> dict[str, Any]:
        until_ns = time.thread_time_ns() + 20_000_000
        while time.thread_time_ns() < until_ns:
            pass
        return {}

    vitals = Vitals(Wire().send, 0.001)
    vitals.tell(dear)
    assert vitals.due_ns > time.monotonic_ns() + 15_000_000_000


def test_waiting_is_added_up() -> None:
    wire = Wire()
    vitals = Vitals(wire.send, 1.0)
    vitals.tell(dict)
    vitals.waited(0.5, 4.0)
    vitals.waited(0.25, 4.0)
    vitals.tell(dict)
    first, second = wire.reports
    assert (first.input_seconds, first.step_seconds) == (None, None)
    assert (second.input_seconds, second.step_seconds) == (3.0, 8.0)


def test_the_supervisor_reads_what_is_told() -> None:
    wire = Wire()
    gpu = AllocatorSample("GPU:0", 1, 2)
    Vitals(wire.send, 1.0).tell(lambda: {"metrics": {"a": 1.0}, "allocators": [gpu]})
    assert wire.reports[0].metrics == {"a": 1.0}
    assert wire.reports[0].allocators == [gpu]
