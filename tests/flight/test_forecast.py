"""Leaks are foreseen, and what only looks like one is not."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pitstop.events import ExhaustionForecast
from pitstop.flight.forecast import (
    HORIZON_WINDOWS,
    Envelope,
    ExhaustionMonitor,
    Forecast,
    Outlook,
    extended,
    forecast,
    outlook,
)
from pitstop.flight.sample import DiskSample, Sample
from tests.flight.samples import CHILD, SAMPLE, TRAINER, TRAINING, at

FIRST_EPOCH = Outlook(first_epoch=True)


def first_alarm(
    used: Callable[[int], float], limit: float, seconds: int, ahead: Outlook | None = None
) -> tuple[int, Forecast] | None:
    """When it is told first, and what; one value a second."""
    envelope, every = Envelope(), max(5, seconds // 200)
    for second in range(seconds):
        value = used(second)
        envelope = extended(envelope, float(second), value)
        is_time = second % every == 0
        found = forecast(envelope, limit - value, ahead or Outlook()) if is_time else None
        if found:
            return second, found
    return None


@pytest.mark.parametrize("per_second", [1, 5, 20, 100])
@pytest.mark.parametrize("noise", [0, 50, 300])
def test_a_leak_is_foreseen_to_a_tenth(per_second: int, noise: int) -> None:
    chance = random.Random(per_second * 1000 + noise)

    def leak(second: int) -> float:
        return 1000 + per_second * second + chance.gauss(0, noise) + second % 7 * 30

    told = first_alarm(leak, 20_000, 19_000 // per_second)
    assert told is not None
    second, found = told
    true_end = 19_000 / per_second
    assert second + found.seconds_left == pytest.approx(true_end, rel=0.1)
    assert second < max(60, 0.3 * true_end)


def test_a_leak_that_begins_late_is_foreseen() -> None:
    told = first_alarm(lambda second: 1000 + max(0, second - 4000) * 20, 20_000, 5000)
    assert told is not None
    assert 4000 < told[0] < 4500


@pytest.mark.parametrize("seconds", [10, 30, 100, 300, 1000])
@pytest.mark.parametrize("room", [1.05, 1.2, 2.0])
def test_what_fills_up_is_no_leak(seconds: int, room: float) -> None:
    """An allocator's pools, a cache that is nearly full: slower and slower."""
    chance = random.Random(seconds)

    def filling(second: int) -> float:
        return 1000 + 8000 * (1 - math.exp(-second / seconds)) + chance.gauss(0, 5)

    assert first_alarm(filling, 9000 * room, 5 * seconds) is None


@pytest.mark.parametrize("seconds", [3, 10, 30])
def test_a_fast_sawtooth_is_no_leak(seconds: int) -> None:
    """Python's collector, the peaks of steps."""
    assert first_alarm(lambda second: 1000 + second % seconds * 6000 / seconds, 7500, 3000) is None


@pytest.mark.parametrize("seconds", [60, 100, 300])
def test_a_slow_sawtooth_is_no_leak_once_it_is_known(seconds: int) -> None:
    """What every epoch gathers and drops: it was as high before."""
    envelope = Envelope(highest=7000.0)
    for second in range(6 * seconds):
        value = 1000 + second % seconds * 5800 / seconds
        envelope = extended(envelope, float(second), value)
        assert second % 5 or forecast(envelope, 7200 - value, Outlook()) is None


def test_a_random_walk_is_no_leak() -> None:
    chance, at = random.Random(1), 3000.0
    values = [at := at + chance.gauss(0, 20) for _ in range(8000)]
    assert first_alarm(lambda second: values[second], 20_000, 8000) is None


def test_a_jump_is_no_leak() -> None:
    assert first_alarm(lambda second: 1000 if second < 200 else 9000, 10_000, 2000) is None


def test_a_slow_growth_is_told_only_when_it_has_taken_its_share() -> None:
    told = first_alarm(lambda second: 1000 + 2 * second, 100_000, 60_000)
    assert told is not None
    second, found = told
    assert 2 * second >= 99_000 / (HORIZON_WINDOWS + 1) * 0.9
    assert found.window_seconds * HORIZON_WINDOWS >= found.seconds_left


def grows(second: int) -> float:
    return 1000 + 10 * second


def test_a_growth_of_the_first_epoch_that_fits_is_not_told() -> None:
    """`Dataset.cache`: as linear as a leak, and over with the epoch."""
    ahead = Outlook(first_epoch=True, epoch_seconds_left=400.0)
    assert first_alarm(grows, 20_000, 1000, ahead) is None


def test_a_growth_of_the_first_epoch_that_does_not_fit_is_told() -> None:
    ahead = Outlook(first_epoch=True, epoch_seconds_left=5000.0)
    assert first_alarm(grows, 20_000, 1000, ahead) is not None


def test_in_a_first_epoch_of_unknown_length_only_what_is_near_is_told() -> None:
    told = first_alarm(grows, 20_000, 1900, FIRST_EPOCH)
    assert told is not None
    assert told[1].seconds_left <= told[1].window_seconds


def test_nothing_is_told_that_comes_after_the_end() -> None:
    assert first_alarm(grows, 20_000, 1000, Outlook(seconds_left=500.0)) is None
    assert first_alarm(grows, 20_000, 1000, Outlook(seconds_left=5000.0)) is not None


def test_nothing_is_told_of_what_shrinks() -> None:
    assert first_alarm(lambda second: 20_000 - 10 * second, 21_000, 1500) is None


GB = 1_000_000_000


def leaking(second: int, per_second: int = 5_000_000, **training: object) -> Sample:
    grown = second * per_second
    return at(
        second,
        training={"epoch": 2, "steps_per_epoch": 0, **training},
        processes=[replace(TRAINER, private_bytes=GB + grown)],
        host=replace(SAMPLE.host, left_bytes=max(0, 3 * GB - grown)),
    )


def told(samples: Iterator[Sample]) -> list[ExhaustionForecast]:
    exhaustion_monitor = ExhaustionMonitor()
    exhaustion_monitor.see(at(0, training={"epoch": 0}))
    return [event for sample in samples for event in exhaustion_monitor.see(sample)]


def test_a_leak_is_told_once() -> None:
    [event] = told(leaking(second) for second in range(1, 600))
    assert (event.resource, event.place) == ("memory", "cgroup")
    assert event.per_second == pytest.approx(5e6, rel=0.01)
    assert event.left / event.per_second == pytest.approx(event.seconds_left)
    assert event.growing == ""


def test_python_objects_that_grow_with_it_are_named() -> None:
    [event] = told(leaking(second, python_blocks=1000 + second) for second in range(1, 600))
    assert event.growing == "python"


def test_a_healthy_run_is_told_nothing() -> None:
    assert told(at(second, training={"epoch": second // 60}) for second in range(1, 1000)) == []


@pytest.mark.parametrize("phase", ["starting", "restoring", "first_step", "ended"])
def test_what_fills_before_the_first_step_is_over_counts_for_nothing(phase: str) -> None:
    """A shuffle's buffer, the compiler."""
    assert told(leaking(second, phase=phase) for second in range(1, 600)) == []


def cached(second: int) -> Sample:
    """`Dataset.cache` in memory: the first epoch of 300 s fills it."""
    epoch, in_epoch = divmod(second, 300)
    step = {"step_in_epoch": in_epoch * 20, "steps_per_epoch": 6000, "epoch": epoch}
    grown = min(second, 300) * 5_000_000
    sample = leaking(second, 0, **step)
    return replace(
        sample,
        processes=[replace(TRAINER, private_bytes=GB + grown)],
        host=replace(SAMPLE.host, left_bytes=3 * GB - grown),
    )


def test_a_cache_that_the_first_epoch_fills_is_no_leak() -> None:
    exhaustion_monitor = ExhaustionMonitor()
    assert [
        event for second in range(1200) for event in exhaustion_monitor.see(cached(second))
    ] == []


def filling_disk(second: int) -> Sample:
    free = 50 * GB - second * 50_000_000
    disk = DiskSample("/data", "ext4", ["run"], 100 * GB, max(0, free))
    return at(second, training={"epoch": 2, "steps_per_epoch": 0}, disks=[disk])


def test_a_disk_that_fills_is_named() -> None:
    [event] = told(filling_disk(second) for second in range(1, 600))
    assert (event.resource, event.place) == ("disk", "/data")


def test_a_disk_that_does_not_answer_tells_nothing() -> None:
    def hung(second: int) -> Sample:
        sample = filling_disk(second)
        return replace(sample, disks=[replace(sample.disks[0], answers=False)])

    assert told(hung(second) for second in range(1, 600)) == []


def opening(count: Callable[[int], int]) -> Iterator[Sample]:
    for second in range(1, 600):
        trainer = replace(TRAINER, open_files=count(second))
        yield at(second, training={"epoch": 2, "steps_per_epoch": 0}, processes=[trainer, CHILD])


def test_files_that_are_never_closed_are_told() -> None:
    [event] = told(opening(lambda second: 30 + second))
    assert (event.resource, event.left) == ("open_files", event.left)
    assert event.per_second == pytest.approx(1.0, rel=0.05)


def test_what_still_grows_is_there_for_a_status() -> None:
    exhaustion_monitor = ExhaustionMonitor()
    exhaustion_monitor.see(at(0, training={"epoch": 0}))
    for second in range(1, 400):
        exhaustion_monitor.see(leaking(second))
    assert [event.resource for event in exhaustion_monitor.present.values()] == ["memory"]
    steady = leaking(399)
    for second in range(400, 900):
        exhaustion_monitor.see(replace(steady, clock_seconds=SAMPLE.clock_seconds + second))
    assert exhaustion_monitor.present == {}


def test_only_the_first_fit_has_an_end() -> None:
    """A script that trains in folds leaks from one `fit` to the next."""
    first = outlook(TRAINING, (0, 0))
    assert first.epoch_seconds_left == 3.0
    assert first.seconds_left == 3.0 + 8 * 4.0
    assert outlook(replace(TRAINING, fit=1), (0, 0)).seconds_left is None


def test_the_first_epoch_is_that_of_the_attempt() -> None:
    assert outlook(TRAINING, (0, 1)).first_epoch
    assert not outlook(TRAINING, (0, 0)).first_epoch
    assert outlook(replace(TRAINING, rate=None), (0, 1)).epoch_seconds_left is None
