"""A run is followed by nothing but its files."""

from __future__ import annotations

import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np

from pitstop.events import StopRequested
from pitstop.flight.files import FlightFiles
from pitstop.journal import Journal
from pitstop.report.timeline import Panel, Timeline
from pitstop.steps import FILE_NAME
from pitstop.supervisor.status import stored_status
from pitstop.supervisor.status_rows import total_steps
from pitstop.watch.followed_run import FollowedRun
from pitstop.watch.live_page import COST_SHARE, EVERY_SECONDS, wait_seconds
from tests.flight.test_forecast import leaking
from tests.watch.made_run import START, held, make_run, write_steps


def _panel(timeline: Timeline, name: str) -> Panel | None:
    return next((each for each in timeline.panels if each.id == name), None)


def test_a_run_that_is_over_is_what_pitstop_status_says(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run")
    run = FollowedRun(folder.path)
    run.refresh()
    assert run.status() == stored_status(folder)
    assert run.cause() != ""


def test_a_run_that_is_held_is_where_its_last_sample_was(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", events=())
    with closing(held(folder)):
        run = FollowedRun(folder.path)
        run.refresh()
        status = run.status()
        assert (status.state, status.step, status.loss) == ("running", 90, 0.25)
        with Journal(folder.journal, 1) as journal:
            journal.append(StopRequested("command", "graceful"))
        run.refresh()
        assert run.status().state == "stopping"
    run.refresh()
    assert run.status().state == "failed"


def test_curves_grow_and_end_now(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", events=())
    run = FollowedRun(folder.path)
    run.refresh()
    timeline = run.timeline()
    assert timeline is not None
    assert timeline.ended_seconds == START + 100
    loss = _panel(timeline, "loss")
    assert loss is not None
    assert loss.series[0].finite()[-1] == (START + 100, 0.01)
    write_steps(folder.attempt_dir(1) / FILE_NAME, np.array([7.0]), first=101)
    grown = run.timeline()
    assert grown is not None
    assert grown.panels[0].series[0].finite()[-1] == (START + 101, 7.0)
    with closing(held(folder)):
        run.refresh()
        now = run.timeline()
    assert now is not None
    assert abs(now.ended_seconds - time.time()) < 60


def test_memory_that_grows_is_drawn_to_its_limit(tmp_path: Path) -> None:
    folder = make_run(tmp_path / "run", events=())
    files = FlightFiles(folder.attempt_dir(1))
    for second in range(10, 400):
        files.append(replace(leaking(second), time_seconds=START + second))
    files.close()
    with closing(held(folder)):
        run = FollowedRun(folder.path)
        run.refresh()
        timeline = run.timeline()
        assert "forecast" in dict(run.rows())
    assert timeline is not None
    memory = _panel(timeline, "memory")
    assert memory is not None
    line = memory.series[-1]
    assert line.is_forecast
    assert memory.limit is not None
    assert line.points[0][1] < line.points[1][1] <= memory.limit * 1.001
    assert timeline.drawn_seconds > timeline.seconds


def test_the_steps_of_several_trainings_have_no_end_that_is_known(tmp_path: Path) -> None:
    status = stored_status(make_run(tmp_path / "run"))
    assert total_steps(status) == 500
    assert total_steps(replace(status, step=900)) is None


def test_a_part_is_made_as_often_as_it_is_cheap() -> None:
    assert wait_seconds(0.0, 1.0) == EVERY_SECONDS
    assert wait_seconds(COST_SHARE * 10, 0.5) == 20.0
