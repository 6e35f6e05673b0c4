"""The typed view of an attempt."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import Evidence
from pitstop.events import EpochEnded, Restored
from tests.diagnosis.attempts import (
    CONNECTED,
    STARTED,
    TRAINER_PID,
    attempt_of,
    epoch,
    exited,
    killed,
)


def test_first_last_and_all_of_a_type() -> None:
    evidence = attempt_of(epoch(0), epoch(1))
    assert evidence.first(EpochEnded) == epoch(0)
    assert evidence.last(EpochEnded) == epoch(1)
    assert evidence.all(EpochEnded) == (epoch(0), epoch(1))
    assert evidence.first(Restored) is None


@pytest.mark.parametrize(
    ("code", "name"),
    [(137, "SIGKILL"), (143, "SIGTERM"), (128, ""), (1, ""), (160, ""), (255, "")],
)
def test_exit_codes_of_a_shell_name_the_signal_of_its_child(code: int, name: str) -> None:
    evidence = attempt_of(exited(code))
    assert evidence.signal == name
    assert evidence.is_signal_of_child == bool(name)


def test_a_signal_of_the_command_itself_is_not_of_a_child() -> None:
    evidence = attempt_of(killed("SIGSEGV"))
    assert evidence.signal == "SIGSEGV"
    assert not evidence.is_signal_of_child


def test_the_position_comes_from_the_end_else_from_the_resume() -> None:
    restored = Restored(30, 1, 10, "exact", "", 0.1, 0)
    assert attempt_of(STARTED).position is None
    assert attempt_of(restored).position == restored
    assert attempt_of(restored, exited(0)).position == exited(0)


def test_pids_of_the_started_and_the_connected_process() -> None:
    assert attempt_of(STARTED, CONNECTED).trainer_pids == {TRAINER_PID}


@pytest.mark.parametrize(
    ("evidence", "state"),
    [
        (attempt_of(STARTED, live=True), "running"),
        (attempt_of(STARTED), "failed"),
        (attempt_of(STARTED, exited(0)), "completed"),
        (attempt_of(STARTED, exited(0), state="stopped"), "stopped"),
        (Evidence(0, ()), "unknown"),
    ],
)
def test_state(evidence: Evidence, state: str) -> None:
    assert evidence.state == state
