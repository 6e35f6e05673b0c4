"""The numbers that rules reason with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.flight.sample import HostSample, PressureSample
from pitstop.flight.summary import summarize
from tests.flight.samples import SAMPLE, TRAINER, at


def test_no_samples_no_summary() -> None:
    assert summarize([]) is None


def test_a_leak_in_numbers() -> None:
    samples = [
        at(second, processes=[replace(TRAINER, rss_bytes=1_000_000_000 + second * 1_000_000)])
        for second in range(0, 300, 2)
    ]
    found = summarize(samples)
    assert found is not None
    assert found.memory is not None
    assert (found.memory.first, found.memory.last) == (1e9, 1.298e9)
    assert found.memory.peak == found.memory.last
    assert found.memory.per_second == pytest.approx(1e6)
    assert found.memory.recent_per_second == pytest.approx(1e6)
    assert (found.samples, found.every_seconds) == (150, 2.0)


def test_the_limit_that_is_met_first() -> None:
    found = summarize([SAMPLE])
    assert found is not None
    assert (found.memory_limited_by, found.memory_limit_bytes) == ("cgroup", 4_000_000_000)
    free = replace(SAMPLE.host, left_bytes=SAMPLE.host.available_bytes)
    found = summarize([replace(SAMPLE, host=free)])
    assert found is not None
    assert (found.memory_limited_by, found.memory_limit_bytes) == ("machine", 8_000_000_000)


def test_the_trainer_is_as_it_was_seen_last() -> None:
    ending, gone = at(5, processes=[replace(TRAINER, rss_bytes=0)]), at(6, processes=[])
    found = summarize([at(0), at(4), ending, gone])
    assert found is not None
    assert found.trainer == TRAINER
    assert found.children == 1
    assert found.memory is not None
    assert found.memory.last == SAMPLE.memory_bytes
    assert found.ended_seconds == gone.time_seconds


def test_what_could_not_be_seen_is_none() -> None:
    blind = replace(
        SAMPLE,
        training=None,
        processes=[],
        cgroup=None,
        host=HostSample(),
        pressure=PressureSample(),
        disks=[],
        gpus=[],
    )
    found = summarize([blind])
    assert found is not None
    assert found.memory is None
    assert found.trainer is None
    assert found.memory_limit_bytes is None
    assert found.gpu_peak_bytes == {}
