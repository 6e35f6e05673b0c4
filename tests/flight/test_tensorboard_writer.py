"""A run in the TensorBoard of its user."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from pitstop.flight.event_file import records, step_of
from pitstop.flight.tensorboard_writer import (
    EVERY_SECONDS,
    FOLDER,
    TensorBoardWriter,
    scalars,
    write_report,
)
from tests.flight.samples import SAMPLE, at


def steps_in(folder: Path) -> list[int]:
    data = [path.read_bytes() for path in sorted((folder / FOLDER).iterdir())]
    return [step for each in data for _, event in records(each) if (step := step_of(event))]


def show(folder: Path, steps: range, attempt: int = 1, resumed_from: int | None = None) -> None:
    tensorboard_writer = TensorBoardWriter(attempt, SAMPLE.time_seconds, lambda: resumed_from)
    for step in steps:
        training = {"step": step, "log_folder": str(folder)}
        tensorboard_writer.see(at(int(step * EVERY_SECONDS), training=training))
    tensorboard_writer.close()


def test_each_step_is_there_once_after_a_resume(tmp_path: Path) -> None:
    show(tmp_path, range(1, 6))
    show(tmp_path, range(4, 8), attempt=2, resumed_from=3)
    assert sorted(steps_in(tmp_path)) == [1, 2, 3, 4, 5, 6, 7]


def test_files_of_another_run_are_left_alone(tmp_path: Path) -> None:
    show(tmp_path, range(1, 6))
    [path] = (tmp_path / FOLDER).iterdir()
    path.rename(path.with_name("events.out.tfevents.1000000000.host.5.pitstop"))
    show(tmp_path, range(4, 6), attempt=2, resumed_from=3)
    assert sorted(steps_in(tmp_path)) == [1, 2, 3, 4, 4, 5, 5]


def test_a_step_that_does_not_end_is_not_shown_again(tmp_path: Path) -> None:
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    for second in range(0, 100, 20):
        training = {"step": 5, "log_folder": str(tmp_path)}
        tensorboard_writer.see(at(second, training=training))
    tensorboard_writer.close()
    assert steps_in(tmp_path) == [5]


def test_it_is_shown_every_ten_seconds(tmp_path: Path) -> None:
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    for second in range(31):
        training = {"step": second + 1, "log_folder": str(tmp_path)}
        tensorboard_writer.see(at(second, training=training))
    tensorboard_writer.close()
    assert steps_in(tmp_path) == [1, 11, 21, 31]


def test_without_a_log_folder_nothing_is_written(tmp_path: Path) -> None:
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    tensorboard_writer.see(replace(SAMPLE, training=None))
    tensorboard_writer.see(at(0, training={"log_folder": ""}))
    tensorboard_writer.close()
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_let_be(tmp_path: Path) -> None:
    (tmp_path / "logs").touch()
    tensorboard_writer = TensorBoardWriter(1, 0.0, lambda: None)
    tensorboard_writer.see(at(0, training={"log_folder": str(tmp_path / "logs")}))
    tensorboard_writer.close()
    write_report(tmp_path / "logs", 5, 6.0, "text")
    assert [path.name for path in tmp_path.iterdir()] == ["logs"]


def test_a_report_is_among_the_texts(tmp_path: Path) -> None:
    write_report(tmp_path, 5, 6.0, "# Killed")
    assert steps_in(tmp_path) == [5]


def test_a_report_survives_a_resume_from_before_it(tmp_path: Path) -> None:
    show(tmp_path, range(1, 4))
    write_report(tmp_path, 3, SAMPLE.time_seconds + 40, "# Killed")
    show(tmp_path, range(2, 4), attempt=2, resumed_from=1)
    assert sorted(steps_in(tmp_path)) == [1, 2, 3, 3]


def test_scalars() -> None:
    later = at(2, training={"step": 140, "input_seconds": 1.5, "step_seconds": 7.0})
    found = scalars(SAMPLE, later)
    assert found["pitstop/memory_mb"] == 2500.0
    assert found["pitstop/steps_per_second"] == 20.0
    assert found["pitstop/input_share"] == 0.25
    assert found["pitstop/gpu0/utilization"] == 0.9
    assert found["pitstop/disk_free_mb"] == 40_000.0
    assert "pitstop/steps_per_second" not in scalars(None, later)
