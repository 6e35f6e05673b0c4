"""A status in words."""

from __future__ import annotations

from dataclasses import replace

from pitstop.supervisor.status import Status
from pitstop.supervisor.status_rows import cells, describe


def row(name: str, status: Status) -> str:
    return dict(describe(status)).get(name, "")


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
    # A page reads samples, which have no memory of the trainer alone.
    assert row("memory", replace(status, rss_bytes=None)) == "1500 MiB with its children"
    assert rows["input"] == "42% of step time spent waiting for it"
    assert rows["forecast"] == "out of memory in about 40 minutes"


def test_what_it_has_not_seen_has_no_row() -> None:
    rows = dict(describe(Status("running", rss_bytes=900 << 20, memory_bytes=900 << 20)))
    assert rows["memory"] == "900 MiB"
    assert "input" not in rows
    assert "forecast" not in rows


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


def test_the_cells_of_a_table_say_only_what_is_known() -> None:
    known = {name: text for name, text in cells(Status("starting")).items() if text}
    assert known == {"state": "starting"}
    trained = Status(
        "running",
        step=1130,
        epoch=1,
        epochs=3,
        step_in_epoch=130,
        steps_per_epoch=1000,
        attempt=2,
        eta_seconds=7.0,
        checkpoint_step=1000,
        loss=0.25,
    )
    scored = replace(trained, best_metric="val_loss", best_value=0.5, best_epoch=0)
    assert list(cells(scored).values()) == [
        "running", "1,130 of 3,000", "2", "7 s", "0.25", "val_loss 0.5", "1,000", "2",
    ]  # fmt: skip
    assert row("best", scored) == "val_loss 0.5 in epoch 1"
