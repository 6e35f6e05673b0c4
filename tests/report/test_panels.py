"""What the run took of its machine, from samples written by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from pitstop.events import EpochEnded
from pitstop.flight.sample import (
    TRAINER,
    CgroupSample,
    DiskSample,
    GpuSample,
    HostSample,
    ProcessSample,
    Sample,
    TrainingSample,
)
from pitstop.journal import Entry
from pitstop.report.panels import resource_panels, step_rate, training_panels
from pitstop.report.timeline import Panel
from pitstop.steps import StepRecord
from tests.diagnosis.attempts import epoch


def _sample(number: int) -> Sample:
    """The trainer keeps two processors busy, waits half of the time, and grows."""
    return Sample(
        number,
        time_seconds=1000.0 + number,
        clock_seconds=float(number),
        training=TrainingSample(
            number, 0, 0, 1, number, 10, "train", input_seconds=0.5 * number, step_seconds=number
        ),
        processes=[
            ProcessSample(
                1, TRAINER, "python", "R", rss_bytes=100 * number, cpu_seconds=2.0 * number
            )
        ],
        host=HostSample(total_bytes=9000, available_bytes=8000, left_bytes=8000),
    )


_SAMPLES = [_sample(number) for number in range(10)]


def _panels(samples: list[Sample]) -> dict[str, Panel]:
    return {panel.id: panel for panel in resource_panels(samples)}


def test_memory_processors_and_input() -> None:
    found = _panels(_SAMPLES)
    assert list(found) == ["memory", "input", "cpu"]
    memory = found["memory"]
    assert memory.series[0].points[-1] == (1009.0, 900.0)
    assert (memory.limit, memory.limit_name) == (9000.0, "machine has")
    assert set(found["cpu"].values()) == {2.0}
    assert set(found["input"].values()) == {0.5}


def test_a_cgroup_that_leaves_less_is_the_limit() -> None:
    group = CgroupSample(2, usage_bytes=1000, limit_bytes=2000, cache_bytes=300)
    host = HostSample(total_bytes=9000, available_bytes=8000, left_bytes=1300)
    memory = _panels([replace(each, cgroup=group, host=host) for each in _SAMPLES])["memory"]
    assert (memory.limit, memory.limit_name) == (2000.0, "cgroup limit")
    charged, processes = memory.series
    assert set(charged.points) == {(each.time_seconds, 700.0) for each in _SAMPLES[1:]}
    assert processes.points[-1] == (1009.0, 900.0)


def test_each_gpu_is_a_line() -> None:
    gpus = [GpuSample(i, "H", used_bytes=10 + i, total_bytes=80, utilization=0.5) for i in (0, 1)]
    found = _panels([replace(each, gpus=gpus) for each in _SAMPLES])
    assert [each.name for each in found["gpu_memory"].series] == ["GPU 0", "GPU 1"]
    assert found["gpu_memory"].limit == 80.0
    assert len(found["gpu"].series) == 2


def test_a_learning_rate_that_changes() -> None:
    steady = [replace(each, training=_training(each, 0.1)) for each in _SAMPLES]
    falling = [replace(each, training=_training(each, 1.0 / each.number)) for each in _SAMPLES[1:]]
    assert "learning_rate" not in _panels(steady)
    assert _panels(falling)["learning_rate"].series[0].points[0] == (1001.0, 1.0)


def _training(sample: Sample, rate: float) -> TrainingSample:
    assert sample.training is not None
    return replace(sample.training, learning_rate=rate)


def test_a_disk_that_fills_up_and_no_other() -> None:
    disks = [
        DiskSample("/", "ext4", ["run"], 1000, 900),
        DiskSample("/data", "ext4", ["cwd"], 1000, 9),
    ]
    [line] = _panels([replace(each, disks=disks) for each in _SAMPLES])["disk"].series
    assert line.name == "/data"


@pytest.mark.parametrize(("limit", "shown"), [(20, True), (64, False), (None, False)])
def test_open_files_near_their_limit(limit: int | None, shown: bool) -> None:
    process = ProcessSample(
        1, TRAINER, "python", "R", rss_bytes=1, open_files=12, open_files_limit=limit
    )
    found = _panels([replace(each, processes=[process]) for each in _SAMPLES])
    assert ("open_files" in found) == shown
    if shown:
        assert found["open_files"].limit == 20.0


def test_a_process_that_has_ended_holds_nothing_which_is_no_news() -> None:
    ended = replace(_sample(10), processes=[ProcessSample(1, TRAINER, "python", "Z")])
    assert _panels([*_SAMPLES, ended])["memory"].series[0].points[-1] == (1009.0, 900.0)


def test_a_clock_that_was_set_back() -> None:
    samples = [replace(each, time_seconds=2000.0 - each.number) for each in _SAMPLES]
    times = [time for time, _ in _panels(samples)["memory"].series[0].points]
    assert times == sorted(times)


def test_nothing_was_recorded() -> None:
    assert resource_panels([]) == ()
    assert resource_panels(_SAMPLES[:1]) == ()


def _records(count: int, seconds: float = 0.5, loss: float = 1.0) -> list[StepRecord]:
    return [
        StepRecord(step, 0, 0, loss / step, 100.0 + seconds * step, 0)
        for step in range(1, count + 1)
    ]


def _by_id(panels: tuple[Panel, ...]) -> dict[str, Panel]:
    return {panel.id: panel for panel in panels}


def test_a_loss_of_every_step_and_of_every_epoch() -> None:
    entries = [Entry(150.0, 1, epoch(0, loss=0.5, val_loss=0.6, accuracy=0.7, val_accuracy=0.8))]
    found = _by_id(training_panels(_records(20), entries, 150.0))
    loss, validation = found["loss"].series
    assert (loss.points[0], loss.points[-1]) == ((100.5, 1.0), (110.0, 0.05))
    assert (validation.name, validation.points) == ("val_loss", ((150.0, 0.6),))
    assert [each.name for each in found["metrics"].series] == ["accuracy", "val_accuracy"]


def test_learning_rates_are_no_metrics_and_two_metrics_are_enough() -> None:
    logs = {"loss": 1.0, "lr": 0.1, "learning_rate": 0.1, "a": 1.0, "b": 2.0, "c": 3.0}
    found = _by_id(training_panels((), [Entry(1.0, 1, EpochEnded(0, 0, 20, 20, logs))], 2.0))
    assert [each.name for each in found["metrics"].series] == ["a", "b"]


def test_the_speed_is_steps_by_seconds() -> None:
    points = step_rate(_records(200), 200.0)
    before_end = [rate for time, rate in points if time < 199]
    assert all(math.isclose(rate, 2.0, rel_tol=0.02) for rate in before_end)


def test_a_standstill_is_a_speed_of_nothing() -> None:
    points = step_rate(_records(200), 300.0)
    assert points[-1][1] == 0.0
    assert math.isclose(sum(rate for _, rate in points) * (300 - 100.5) / len(points), 199)


def test_a_pause_between_two_steps_is_a_low_speed() -> None:
    late = StepRecord(201, 0, 0, 1.0, 300.0, 0)
    points = step_rate([*_records(200), late], 300.0)
    assert all(rate < 0.02 for time, rate in points if time > 205)


def test_nothing_to_show() -> None:
    assert training_panels((), (), 1.0) == ()
    assert training_panels(_records(1), (), 200.0) == ()
    assert step_rate(_records(3, seconds=0.0), 100.0) == ()


def test_losses_that_no_axis_can_hold_are_drawn_as_none() -> None:
    records = [
        each._replace(loss=loss)
        for each, loss in zip(_records(4), (1.0, -1.7e308, 1.7e308, 2.0), strict=True)
    ]
    [loss, *_] = training_panels(records, (), 110.0)
    assert loss.values() == (1.0, 2.0)
