"""The rows of `pitstop status`."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from pitstop.cli.main import main
from pitstop.cli.status import describe
from pitstop.store.gang_folder import Shape, create
from pitstop.store.run_folder import RUN_FILE
from pitstop.supervisor.status import Status


def row(name: str, status: Status) -> str:
    return dict(describe(status))[name]


def test_what_snapshots_take_and_may_take() -> None:
    status = Status("running", rss_bytes=900 << 20, snapshot_memory_bytes=212 << 20)
    assert row("memory", status) == (
        "900 MiB, 212 MiB for snapshots (limit: half of the free memory)"
    )


def test_snapshots_that_memory_does_not_hold() -> None:
    status = Status(
        "running",
        snapshot_memory_bytes=212 << 20,
        snapshot_backing="file",
        snapshot_limit_bytes=100 << 20,
    )
    assert row("memory", status) == (
        "212 MiB for snapshots in a file in the run folder (limit: 100 MiB)"
    )


def test_how_often_checkpoints_are_written_and_why() -> None:
    status = Status("running", checkpoint_step=40, checkpoint_age_seconds=3.0)
    assert row("saved", status) == "step 40, 3 s ago"
    often = Status("running", checkpoint_step=40, checkpoint_interval_seconds=10.0, losses=2)
    assert row("saved", often) == "step 40, every 10 s, snapshots in memory were lost 2 times"
    assert row("saved", Status("running")) == "nothing yet"


def test_the_watch_and_what_it_sees() -> None:
    live = Status("running", supervisor_pid=7)
    assert row("progress", live) == "not watched"
    watched = replace(live, on_hang="kill")
    assert row("progress", watched) == "watched once training starts (--on-hang kill)"
    moved = replace(watched, silent_seconds=2.0, patience_seconds=75.0)
    assert row("progress", moved) == "2 s ago, a hang after 1 min 15 s (--on-hang kill)"
    stands = replace(moved, silent_seconds=83.0, standstill="it waits for its input at data.py:7")
    assert row("progress", stands) == "none for 1 min 23 s: it waits for its input at data.py:7"
    assert row("progress", Status("stopped")) == ""


def test_how_many_restarts_are_left() -> None:
    assert row("attempt", Status("running", attempt=2)) == "2"
    tried = Status("running", attempt=2, restarts=5, restarts_left=4)
    assert row("attempt", tried) == "2, 4 of 5 restarts left"


def test_what_the_flight_recorder_sees() -> None:
    status = Status(
        "running",
        rss_bytes=900 << 20,
        memory_bytes=1500 << 20,
        input_share=0.42,
        forecasts=["out of memory in about 40 minutes"],
    )
    rows = dict(describe(status))
    assert rows["memory"] == "900 MiB, 1500 MiB with its children"
    assert rows["input"] == "42% of step time spent waiting for it"
    assert rows["forecast"] == "out of memory in about 40 minutes"


def test_what_it_has_not_seen_has_no_row() -> None:
    rows = dict(describe(Status("running", rss_bytes=900 << 20, memory_bytes=900 << 20)))
    assert rows["memory"] == "900 MiB"
    assert not rows["input"]
    assert not rows["forecast"]


def test_each_task_of_a_cluster_has_a_row() -> None:
    chief = {"task": "chief 0", "host": "a_1", "state": "running", "phase": "train", "step": 12}
    worker = {"task": "worker 0", "host": "b", "state": "lost", "phase": "", "step": None}
    status = Status("running", leader="chief 0", members=[chief, worker])
    assert describe(status)[-3:] == [
        ("cluster", "led by chief 0"),
        ("", "chief 0: running (train, step 12, a_1)"),
        ("", "worker 0: lost (b)"),
    ]
    # So does that of the leader itself.
    assert describe(replace(status, leader=""))[-3:] == describe(status)[-3:]


def test_a_leader_that_does_not_answer_has_a_row() -> None:
    row = {"task": "chief 0", "host": "", "state": "no_answer", "phase": "", "step": None}
    status = Status("running", members=[row])
    assert describe(status)[-2:] == [("cluster", "led by chief 0"), ("", "chief 0: no answer")]


def test_a_damaged_member_hides_no_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, _ = create(tmp_path, Shape(worker=2), ["true"]).members
    first.mkdir(parents=True)
    (first / RUN_FILE).write_text("{")
    with pytest.raises(SystemExit) as left:
        main(["status", str(tmp_path), "--json"])
    assert not left.value.code
    rows = json.loads(capsys.readouterr().out)["members"]
    assert [row["state"] for row in rows] == ["unreadable", "not started"]
