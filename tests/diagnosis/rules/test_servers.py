"""Servers that wait for ever are told of; processes that train are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.diagnosis import Evidence, diagnose
from pitstop.events import Event, RoleTaken, ScriptEnded
from tests.diagnosis.attempts import (
    FIT,
    STARTED,
    STOPPED_CLEANLY,
    attempt_of,
    exited,
    finding_of,
    killed,
    raised,
    stop_by_signal,
)

LINE = (
    "2026-11-21 10:00:00.1: I tensorflow/core/distributed_runtime/rpc/grpc_server_lib.cc:463] "
    "Started server with target: grpc://localhost:2222\n"
)
JOINING = LINE + '  File "/app/ps.py", line 9 in <module>\n    server.join()\n'
CONFIG = '{"cluster": {"ps": ["a:1"]}, "task": {"type": "ps", "index": 0}}'
PS = replace(STARTED, environment={"env": {"TF_CONFIG": CONFIG}})
INTERRUPTED: tuple[Event, ...] = (stop_by_signal("SIGINT"), *STOPPED_CLEANLY)
COORDINATES = RoleTaken("coordinator", 7)


def causes(evidence: Evidence) -> list[str]:
    diagnosis = diagnose(evidence)
    assert diagnosis.finding
    return [diagnosis.finding.cause, *(other.cause for other in diagnosis.others)]


@pytest.mark.parametrize(
    "evidence",
    [
        attempt_of(STARTED, *INTERRUPTED, output=LINE, state="stopped"),
        attempt_of(PS, *INTERRUPTED, state="stopped"),
        attempt_of(STARTED, RoleTaken("server", 7), *INTERRUPTED, state="stopped"),
    ],
)
def test_who_ended_a_server_comes_first_and_what_it_is_behind(evidence: Evidence) -> None:
    assert causes(evidence) == ["user_interrupt", "ps_or_server_never_stops"]


def test_a_server_that_was_killed_while_it_waited() -> None:
    finding = finding_of(
        attempt_of(
            PS, killed("SIGKILL", oom_kills=None, kernel_lines=None), output=JOINING, state="failed"
        )
    )
    assert finding.cause == "ps_or_server_never_stops"
    assert '(TF_CONFIG: "ps")' in finding.summary


@pytest.mark.parametrize(
    "evidence",
    [
        attempt_of(STARTED, FIT, *INTERRUPTED, output=LINE, state="stopped"),
        attempt_of(PS, ScriptEnded(0), exited(0), output=LINE, state="completed"),
        attempt_of(PS, raised("KeyError", "x"), exited(1), output=LINE, state="failed"),
        attempt_of(STARTED, *INTERRUPTED, state="stopped"),
        attempt_of(STARTED, COORDINATES, *INTERRUPTED, output=LINE, state="stopped"),
        attempt_of(
            replace(STARTED, environment={"env": {"TF_CONFIG": "{nonsense"}}),
            *INTERRUPTED,
            state="stopped",
        ),
    ],
)
def test_what_trains_fails_or_ends_is_no_server_that_waits(evidence: Evidence) -> None:
    assert "ps_or_server_never_stops" not in causes(evidence)
