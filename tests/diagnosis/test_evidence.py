"""The typed view of an attempt."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import Evidence
from pitstop.diagnosis.evidence import FlightRecord, MemoryUse, of_samples
from pitstop.events import EpochEnded, Restored
from pitstop.flight.sample import HostSample, Sample
from tests.diagnosis.attempts import (
    CONNECTED,
    STARTED,
    TRAINER_PID,
    attempt_of,
    epoch,
    exited,
    killed,
)
from tests.diagnosis.flights import growing, steady
from tests.flight.samples import SAMPLE, TRAINER, at


def test_first_last_and_all_of_a_type() -> None:
    evidence = attempt_of(epoch(0), epoch(1))
    assert evidence.first(EpochEnded) == epoch(0)
    assert evidence.last(EpochEnded) == epoch(1)
    assert evidence.all(EpochEnded) == (epoch(0), epoch(1))
    assert evidence.first(Restored) is None


@pytest.mark.parametrize(
    ("code", "name"),
    [(137, "SIGKILL"), (143, "SIGTERM"), (128, ""), (1, ""), (160, ""), (255, "")],
)
def test_exit_codes_of_a_shell_name_the_signal_of_its_child(code: int, name: str) -> None:
    evidence = attempt_of(exited(code))
    assert evidence.signal == name
    assert evidence.is_signal_of_child == bool(name)


def test_a_signal_of_the_command_itself_is_not_of_a_child() -> None:
    evidence = attempt_of(killed("SIGSEGV"))
    assert evidence.signal == "SIGSEGV"
    assert not evidence.is_signal_of_child


def test_the_position_comes_from_the_end_else_from_the_resume() -> None:
    restored = Restored(30, 1, 10, "exact", "", 0.1, 0)
    assert attempt_of(STARTED).position is None
    assert attempt_of(restored).position == restored
    assert attempt_of(restored, exited(0)).position == exited(0)


def test_pids_of_the_started_and_the_connected_process() -> None:
    assert attempt_of(STARTED, CONNECTED).trainer_pids == {TRAINER_PID}


@pytest.mark.parametrize(
    ("evidence", "state"),
    [
        (attempt_of(STARTED, live=True), "running"),
        (attempt_of(STARTED), "failed"),
        (attempt_of(STARTED, exited(0)), "completed"),
        (attempt_of(STARTED, exited(0), state="stopped"), "stopped"),
        (Evidence(0, ()), "unknown"),
    ],
)
def test_state(evidence: Evidence, state: str) -> None:
    assert evidence.state == state


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
