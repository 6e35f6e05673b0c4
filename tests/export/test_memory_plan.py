"""From what steps took to what a batch needs, and which batch fits."""

from __future__ import annotations

from pitstop.events import StepMemory
from pitstop.export.memory_plan import MemoryPlan, reckon

MB = 10**6
BEGUN = StepMemory(0, 0, 500 * MB)


def _steps(share: float, records: int, megabytes: int, error: str = "") -> StepMemory:
    return StepMemory(share, records, megabytes * MB, error=error)


def _reckon(*told: StepMemory, left: int = 2000) -> MemoryPlan:
    return reckon((BEGUN, *told), left * MB, None)


def test_a_line_through_two_batches_tells_which_one_leaves_a_tenth_free() -> None:
    made = _reckon(_steps(1, 64, 600), _steps(2, 128, 664), _steps(4, 256, 792))
    host = made.needs[0]
    assert (made.fits, made.records, made.before_bytes) == (True, 64, 500 * MB)
    assert (host.peak_bytes, host.is_measured, host.bytes_per_record) == (600 * MB, True, MB)
    assert host.largest_batch == 64 + 1800 - 600


def test_a_measured_step_that_is_larger_than_what_is_left_does_not_fit() -> None:
    made = _reckon(_steps(1, 64, 600), left=550)
    assert not made.fits
    assert made.needs[0].largest_batch is None


def test_a_batch_that_was_killed_is_reckoned_from_smaller_ones() -> None:
    made = _reckon(BEGUN, _steps(1 / 8, 512, 700), _steps(1 / 4, 1024, 800), left=1000)
    host = made.needs[0]
    assert not made.fits
    assert (host.is_measured, made.records) == (False, 4096)
    assert host.peak_bytes == 1400 * MB
    assert host.largest_batch == 1536


def test_one_smaller_batch_alone_says_no_more_than_that_the_whole_does_not_fit() -> None:
    host = _reckon(_steps(1, 64, 900, "ResourceExhaustedError: OOM"), _steps(1 / 8, 8, 700)).needs[
        0
    ]
    assert (host.fits, host.peak_bytes, host.largest_batch) == (False, None, None)


def test_a_batch_that_takes_too_little_to_be_seen_has_no_largest_one() -> None:
    host = _reckon(_steps(1, 8, 600), _steps(2, 16, 600)).needs[0]
    assert (host.fits, host.bytes_per_record, host.largest_batch) == (True, None, None)


def test_a_script_that_was_killed_before_its_first_step_does_not_fit() -> None:
    assert not reckon((), 100 * MB, None).fits


def test_a_device_counts_by_itself_and_an_unknown_one_speaks_against_nothing() -> None:
    told = [
        StepMemory(share, records, 600 * MB, devices={"GPU:0": peak * MB})
        for share, records, peak in ((1.0, 10, 1000), (2.0, 20, 1500))
    ]
    device = reckon(told, 2000 * MB, 4000 * MB).needs[1]
    assert (device.name, device.fits, device.largest_batch) == ("GPU:0", True, 10 + 52)
    unknown = reckon(told, 2000 * MB, None)
    assert (unknown.needs[1].fits, unknown.fits) == (None, True)
    assert not reckon(told, 2000 * MB, 900 * MB).fits


def test_what_children_hold_is_part_of_the_host() -> None:
    told = StepMemory(1, 8, 600 * MB, children_bytes=100 * MB)
    assert _reckon(told).needs[0].peak_bytes == 700 * MB
