"""The status of a live run."""

from __future__ import annotations

import json

import pytest

from pitstop.link.beacon import Beacon, Phase
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.status import Status, live_status, with_progress
from pitstop.supervisor.status_rows import replay_text


def _beacon(loss: float = 0.25) -> Beacon:
    beacon = Beacon.create()
    beacon.write_phase(Phase.TRAIN)
    beacon.write_position(130, 1, 30, 5, loss)
    beacon.write_plan(0, 3, 100)
    beacon.write_step_seconds(0.1)
    return beacon


def test_progress_gives_position_rate_and_time_left() -> None:
    status = with_progress(Status("running"), _beacon().progress())
    assert (status.step, status.epoch, status.step_in_epoch) == (130, 1, 30)
    assert status.rate == pytest.approx(10.0)
    assert status.eta_seconds == pytest.approx(17.0)
    assert (status.loss, status.phase, status.snapshot_step) == (0.25, "train", None)


def test_before_training_the_position_is_the_checkpoint_s() -> None:
    attempt_state = AttemptState(checkpoint_step=40, checkpoint_epoch=2, checkpoint_seconds=90.0)
    progress = Beacon.create().progress()
    status = live_status(Status("", attempt=2), State.STARTING, attempt_state, progress, 100.0)
    assert (status.state, status.step, status.epoch) == ("starting", 40, 2)
    assert status.checkpoint_age_seconds == 10.0


def test_while_the_input_is_replayed_the_step_is_the_checkpoint_s() -> None:
    beacon = Beacon.create()
    beacon.write_phase(Phase.RESTORING)
    attempt_state = AttemptState(checkpoint_step=40, checkpoint_epoch=2)
    before = live_status(Status(""), State.RUNNING, attempt_state, beacon.progress(), 0.0)
    beacon.write_replay(40, 7, 12)
    during = live_status(Status(""), State.RUNNING, attempt_state, beacon.progress(), 0.0)
    assert (before.step, before.phase, replay_text(before)) == (40, "restoring", "")
    assert replay_text(during) == "replaying to step 40: 7 of 12 batches"


@pytest.mark.parametrize("state", [State.ENDING, State.SAVING, State.SAVED])
def test_users_see_the_ways_of_stopping_as_one(state: State) -> None:
    status = live_status(Status(""), state, AttemptState(), _beacon().progress(), 0.0)
    assert status.state == "stopping"


@pytest.mark.parametrize(("loss", "shown"), [(float("nan"), None), (float("inf"), "inf")])
def test_status_is_strict_json_whatever_the_loss(loss: float, shown: str | None) -> None:
    status = with_progress(Status("running"), _beacon(loss).progress())
    text = json.dumps(status.to_json(), allow_nan=False)
    assert json.loads(text)["loss"] == shown


def test_status_of_a_newer_version_is_understood() -> None:
    body = {**Status("running", step=3).to_json(), "novelty": 1}
    assert Status.from_json(body) == Status("running", step=3)
