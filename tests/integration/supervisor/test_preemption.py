"""The machine is taken away: a run that is asked by its cloud, as the cloud does it."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import pytest

from pitstop.events import (
    AttemptEnded,
    Notice,
    StopDeadlinePassed,
    StopRequested,
    TrainerConnected,
    TrainerStopped,
)
from pitstop.supervisor.stops.cloud import ENV_URL, detect
from tests.integration.supervisor.launch import (
    TRAINER,
    call,
    events,
    finish,
    last,
    processes_in,
    start,
    until,
    until_line,
)
from tests.supervisor.metadata import NAME, Amazon, Azure, Google, Metadata, serving


def _train(
    folder: Path, cloud: str, metadata: Metadata, *options: object
) -> subprocess.Popen[bytes]:
    command = ["--", sys.executable, TRAINER, *options]
    words = ["run", "--run-dir", "run", "--preemption", cloud, *command]
    return start(folder, *words, **{ENV_URL: metadata.url})


def _check_stopped(folder: Path, ended: subprocess.CompletedProcess[bytes]) -> StopRequested:
    """It stopped at a step, saved, and says who took the machine."""
    end, asked = last(folder, AttemptEnded), last(folder, StopRequested)
    assert ended.returncode == 75, ended.stderr
    assert end.checkpoint_step == end.step == last(folder, TrainerStopped).step
    assert processes_in(folder) == []
    assert asked.source == "preemption"
    assert b"the cloud is taking this machine away" in ended.stderr
    why = json.loads(call(folder, "why", "run", "--json").stdout)
    assert why["cause"] == "preempted_or_terminated"
    assert asked.reason in why["summary"]
    return asked


def test_google_preempts_it(tmp_path: Path) -> None:
    with serving(Google, "FALSE") as metadata:
        run = _train(tmp_path, "gce", metadata)
        until_line(run, b"step 5\n")
        assert events(tmp_path, StopRequested) == []
        metadata.said = "TRUE"
        asked = _check_stopped(tmp_path, finish(run))
    assert asked.seconds_left is not None
    assert 25 < asked.seconds_left <= 30


def test_google_stops_the_machine_for_maintenance(tmp_path: Path) -> None:
    with serving(Google, "FALSE") as metadata:
        run = _train(tmp_path, "gce", metadata)
        until_line(run, b"step 5\n")
        metadata.maintenance = "TERMINATE_ON_HOST_MAINTENANCE"
        asked = _check_stopped(tmp_path, finish(run))
    assert asked.seconds_left is not None
    assert 50 < asked.seconds_left <= 60


def test_amazon_takes_its_spot_instance_back(tmp_path: Path) -> None:
    with serving(Amazon, "") as metadata:
        run = _train(tmp_path, "aws", metadata)
        until_line(run, b"step 5\n")
        ends_at = datetime.now(UTC) + timedelta(seconds=100)
        metadata.said = json.dumps({"action": "terminate", "time": f"{ends_at:%Y-%m-%dT%H:%M:%SZ}"})
        asked = _check_stopped(tmp_path, finish(run))
    assert asked.seconds_left is not None
    assert 85 < asked.seconds_left <= 100


def test_azure_evicts_it_and_not_its_neighbour(tmp_path: Path) -> None:
    def event(resource: str) -> str:
        ends_at = format_datetime(datetime.now(UTC) + timedelta(seconds=45), usegmt=True)
        named = {"EventType": "Preempt", "Resources": [resource], "NotBefore": ends_at}
        return json.dumps([named])

    with serving(Azure, event("neighbour")) as metadata:
        run = _train(tmp_path, "azure", metadata)
        until_line(run, b"step 5\n")
        until(lambda: sum("scheduledevents" in each for each in metadata.asked) > 1)
        assert events(tmp_path, StopRequested) == []
        metadata.said = event(NAME)
        ended = finish(run)
    asked = _check_stopped(tmp_path, ended)
    assert asked.seconds_left is not None
    assert 35 < asked.seconds_left <= 45


def test_a_trainer_that_does_not_listen_is_ended_while_it_can_be_saved(tmp_path: Path) -> None:
    with serving(Azure, "[]") as metadata:
        run = _train(tmp_path, "azure", metadata, "--deaf", "--phase", "VALIDATION")
        until((tmp_path / "run" / "journal.jsonl").exists)
        until(lambda: bool(events(tmp_path, TrainerConnected)))
        began = time.monotonic()
        soon = format_datetime(datetime.now(UTC) + timedelta(seconds=6), usegmt=True)
        event = {"EventType": "Preempt", "Resources": [NAME], "NotBefore": soon}
        metadata.said = json.dumps([event])
        ended = finish(run)
    assert ended.returncode == 75
    assert time.monotonic() - began < 9
    assert last(tmp_path, StopDeadlinePassed).waited_seconds < 6
    assert last(tmp_path, AttemptEnded).checkpoint_step is not None


def test_a_metadata_server_that_is_not_there_is_told_and_training_goes_on(tmp_path: Path) -> None:
    with serving(Google, "FALSE") as metadata:
        pass
    run = _train(tmp_path, "gce", metadata)
    until_line(run, b"step 5\n")
    until(lambda: [e for e in events(tmp_path, Notice) if e.code == "preemption_unwatched"])
    assert call(tmp_path, "stop", "run").returncode == 0
    assert b"Cannot ask Google Compute Engine" in finish(run).stderr


def test_a_machine_of_no_cloud_is_not_asked_about(tmp_path: Path) -> None:
    if detect():
        pytest.skip("this machine belongs to a cloud")
    with serving(Google, "TRUE") as metadata:
        ended = finish(_train(tmp_path, "auto", metadata, "--steps", 200))
        assert metadata.asked == []
    assert ended.returncode == 0
