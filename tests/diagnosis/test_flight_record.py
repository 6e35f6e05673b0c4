"""The memory and the GPUs in the last moments, in numbers, in words and in judgement."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis.flight_record import FlightRecord, MemoryUse, of_samples
from pitstop.flight.sample import HostSample, Sample
from tests.diagnosis.flights import growing, steady
from tests.flight.samples import SAMPLE, TRAINER, at


def memory_of(*samples: Sample) -> MemoryUse:
    found = of_samples(samples).memory
    assert found is not None
    return found


def test_nothing_is_known_where_nothing_was_seen() -> None:
    assert of_samples([]) == FlightRecord()
    blind = replace(SAMPLE, processes=[], cgroup=None, host=HostSample(), gpus=[])
    assert of_samples([blind]) == FlightRecord()


def test_a_leak_in_numbers() -> None:
    found = memory_of(
        *(
            at(second, processes=[replace(TRAINER, rss_bytes=1_000_000_000 + second * 1_000_000)])
            for second in range(0, 300, 2)
        )
    )
    assert (found.first, found.last, found.seconds) == (1e9, 1.298e9, 298.0)
    assert found.per_second == pytest.approx(1e6)


def test_the_limit_that_is_met_first() -> None:
    found = memory_of(SAMPLE)
    assert (found.limited_by, found.limit_bytes) == ("cgroup", 4_000_000_000)
    free = replace(SAMPLE.host, left_bytes=SAMPLE.host.available_bytes)
    found = memory_of(replace(SAMPLE, host=free))
    assert (found.limited_by, found.limit_bytes) == ("machine", 8_000_000_000)


def test_the_memory_is_that_of_a_trainer_that_lives() -> None:
    gone = at(6, processes=[], host=HostSample())
    found = memory_of(at(0), at(4), at(5, processes=[replace(TRAINER, rss_bytes=0)]), gone)
    assert found.last == SAMPLE.memory_bytes
    assert (found.left_bytes, found.seconds) == (SAMPLE.host.left_bytes, 6.0)


@pytest.mark.parametrize(
    ("left_gb", "short", "ample"), [(0.3, True, False), (1.0, False, False), (3.0, False, True)]
)
def test_how_much_was_left(left_gb: float, short: bool, ample: bool) -> None:
    found = steady(3.6, 4.0, left_gb)
    assert (found.is_short, found.is_ample) == (short, ample)


def test_growth() -> None:
    assert growing(3.6, 4.0, 0.4).is_growing
    assert not steady(3.6, 4.0, 0.4).is_growing


def test_a_start_is_no_leak() -> None:
    assert not replace(growing(3.6, 4.0, 0.4), seconds=90.0).is_growing


def test_words() -> None:
    assert steady(3.6, 4.0, 0.4, "cgroup").words == (
        "3.6 GB in use at the last sample, 400.0 MB left of the cgroup's 4.0 GB"
    )
    assert growing(3.6, 4.0, 0.4).words.endswith(
        "the machine's 4.0 GB; it grew from 1.8 GB to 3.6 GB, by 3.0 GB a minute at the end"
    )
