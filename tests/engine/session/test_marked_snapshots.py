"""Snapshots that are kept for their name or their metrics."""

from __future__ import annotations

import json
import math
import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pitstop.engine.leaving import TrainingStopped
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.state_capture import StateCapture
from pitstop.link.beacon import Beacon, Stop
from pitstop.link.settings import Settings
from pitstop.link.wire import Received, pair
from pitstop.snapshot.arena import newest_slot
from tests.engine.samples import cut
from tests.messages import body_of, welcome


class Persister:
    """The other end of a session: sees what is in the arena, and settles it or not."""

    def __init__(self, run_dir: Path, settings: Settings) -> None:
        self.beacon = Beacon.create()
        self.connection, self.trainer = pair()
        self.session = Session(self.trainer, self.beacon, welcome(run_dir, settings))
        self.session.snapshots.start_steps(0)
        self._arena = -1

    def next_snapshot(self) -> Received:
        message = self.connection.receive()
        if message.message.type == "arena_offer":
            self._arena = message.fds[0]
            return self.next_snapshot()
        assert message.message.type == "snapshot_report", message
        return message

    def newest_state(self) -> dict[str, Any]:
        found = newest_slot(self._arena)
        assert found is not None
        offset_bytes, head = found
        start = offset_bytes + head.size_bytes - head.state_bytes
        state: dict[str, Any] = json.loads(os.pread(self._arena, head.state_bytes, start))
        return state

    def close(self) -> None:
        self.connection.close()
        self.trainer.close()
        os.close(self.beacon.fd)
        if self._arena >= 0:
            os.close(self._arena)


@pytest.fixture
def persister(tmp_path: Path) -> Iterator[Persister]:
    made = Persister(tmp_path, Settings(keep_best=("val_loss:1:min",)))
    yield made
    made.close()


def test_a_name_is_part_of_the_snapshot_and_of_no_other(persister: Persister) -> None:
    persister.beacon.request_checkpoint("before-lr-change")
    persister.session.snapshots.act(3, lambda: cut(3))
    assert body_of(persister.next_snapshot())["durable"]
    assert persister.newest_state()["name"] == "before-lr-change"
    persister.beacon.request_checkpoint()
    persister.session.snapshots.act(4, lambda: cut(4))
    persister.next_snapshot()
    assert "name" not in persister.newest_state()


def test_a_request_that_comes_while_the_cut_is_taken_is_durable(persister: Persister) -> None:
    def take() -> StateCapture:
        persister.beacon.request_checkpoint("early")
        return cut(3)

    persister.session.snapshots.act(3, take)
    snapshot = body_of(persister.next_snapshot())
    assert (snapshot["reason"], snapshot["durable"]) == ("requested", True)
    assert persister.newest_state()["name"] == "early"


def test_a_name_that_waits_is_given_to_the_snapshot_of_a_stop(persister: Persister) -> None:
    persister.beacon.request_checkpoint("last")
    persister.beacon.request_stop(Stop.GRACEFUL)
    with pytest.raises(TrainingStopped):
        persister.session.snapshots.act(3, lambda: cut(3))
    assert body_of(persister.next_snapshot())["reason"] == "stop"
    assert persister.newest_state()["name"] == "last"


def test_the_end_of_an_epoch_among_the_best_is_saved_with_its_metrics(persister: Persister) -> None:
    metrics = {"loss": 0.7, "val_loss": 0.5, "ratio": math.inf}
    persister.session.snapshots.epoch_ended(cut(8), metrics)
    body = body_of(persister.next_snapshot())
    assert (body["step"], body["reason"], body["durable"]) == (8, "best", True)
    assert persister.newest_state()["metrics"] == {"loss": 0.7, "val_loss": 0.5}


def test_the_end_of_another_epoch_is_not(persister: Persister) -> None:
    session = persister.session
    session.snapshots.epoch_ended(cut(8), {"val_loss": 0.5})
    session.snapshots.epoch_ended(cut(16), {"val_loss": 0.6})
    session.snapshots.epoch_ended(None, {"val_loss": 0.1})
    persister.beacon.settle(body_of(persister.next_snapshot())["sequence"])
    session.snapshots.epoch_ended(cut(24), {"val_loss": 0.4})
    assert body_of(persister.next_snapshot())["step"] == 24


def test_no_snapshot_of_the_cadence_takes_the_place_of_a_best_one(persister: Persister) -> None:
    session = persister.session
    session.snapshots.epoch_ended(cut(8), {"val_loss": 0.5})
    sequence = body_of(persister.next_snapshot())["sequence"]
    assert not session.snapshots.act(9, lambda: cut(9))
    assert persister.newest_state()["metrics"] == {"val_loss": 0.5}
    persister.beacon.settle(sequence)
    assert session.snapshots.act(10, lambda: cut(10))
    assert body_of(persister.next_snapshot())["step"] == 10


def test_a_requested_one_waits_for_a_best_one(persister: Persister) -> None:
    session = persister.session
    session.snapshots.epoch_ended(cut(8), {"val_loss": 0.5})
    sequence = body_of(persister.next_snapshot())["sequence"]
    persister.beacon.request_checkpoint()
    waiting = threading.Thread(target=session.snapshots.act, args=(9, lambda: cut(9)))
    waiting.start()
    waiting.join(0.05)
    assert waiting.is_alive()
    assert persister.newest_state()["position"]["step"] == 8
    persister.beacon.settle(sequence)
    waiting.join()
    assert body_of(persister.next_snapshot())["step"] == 9


def test_a_stop_that_is_in_a_hurry_waits_for_nothing(persister: Persister) -> None:
    persister.session.snapshots.epoch_ended(cut(8), {"val_loss": 0.5})
    persister.next_snapshot()
    persister.beacon.request_stop(Stop.NOW)
    with pytest.raises(TrainingStopped):
        persister.session.snapshots.act(9, lambda: cut(9))
    assert body_of(persister.next_snapshot())["step"] == 9


def test_an_exception_behind_a_held_cut_leaves_it_in_memory(persister: Persister) -> None:
    persister.session.snapshots.keep_behind_error(None)
    persister.session.snapshots.keep_behind_error(cut(20))
    kept = body_of(persister.next_snapshot())
    assert (kept["step"], kept["reason"], kept["durable"]) == (20, "exception", False)
