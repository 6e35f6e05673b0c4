"""What is told of the samples of a run, and when."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest

from pitstop.events import ExhaustionForecast
from pitstop.flight.exhaustion_monitor import ExhaustionMonitor, outlook
from pitstop.flight.sample import DiskSample, Sample
from tests.flight.samples import CHILD, SAMPLE, TRAINER, TRAINING, at

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
