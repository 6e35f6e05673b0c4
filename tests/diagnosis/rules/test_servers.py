"""Servers that wait for ever are told of; processes that train are none."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pitstop.cluster.roster import WAS_SUSPENDED
from pitstop.diagnosis import Evidence, diagnose
from pitstop.events import (
    AttemptEnded,
    Event,
    GangBroken,
    GangFormed,
    LeaderFound,
    MemberEnded,
    MemberReleased,
    MemberRestarted,
    Notice,
    RoleTaken,
    ScriptEnded,
    StopRequested,
    TrainerStopped,
    TrainingStalled,
)
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
SERVER = RoleTaken("server", 7, "ps 0")


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
        attempt_of(PS, SERVER, LeaderFound("chief 0"), killed("SIGTERM"), state="failed"),
        attempt_of(
            replace(STARTED, environment={"env": {"TF_CONFIG": "{nonsense"}}),
            *INTERRUPTED,
            state="stopped",
        ),
    ],
)
def test_what_trains_fails_or_ends_is_no_server_that_waits(evidence: Evidence) -> None:
    assert "ps_or_server_never_stops" not in causes(evidence)


@pytest.mark.parametrize(
    ("outcome", "exit_code", "state", "cause"),
    [
        ("completed", 0, "completed", "completed_normally"),
        ("stopped", 75, "stopped", "stop_requested"),
        ("stopped", 143, "stopped", "stop_requested"),
        ("failed", 1, "stopped", "worker_lost"),
        ("failed", 137, "stopped", "worker_lost"),
        ("lost", 75, "stopped", "worker_lost"),
        ("completed", 137, "failed", "hang_or_stall"),
    ],
)
def test_a_server_that_was_released_tells_how_its_leader_ended(
    outcome: str, exit_code: int, state: str, cause: str
) -> None:
    released = MemberReleased("chief 0", outcome, exit_code, "why")
    evidence = attempt_of(PS, SERVER, released, exited(exit_code), state=state)
    assert causes(evidence) == [cause]
    assert "chief 0" in finding_of(evidence).summary


def test_a_member_that_was_refused_is_not_the_victim_of_its_leader() -> None:
    released = MemberReleased("worker 0", "failed", 2, "it failed with exit code 2")
    refused = Notice("resume_refused", "worker 1 uses another folder", "Restore it.")
    stop = StopRequested("cluster", "graceful", reason="worker 0: it failed with exit code 2")
    for ends in ((refused, released), (released, stop, refused)):
        found = finding_of(attempt_of(STARTED, *ends, exited(2), state="failed"))
        assert found.cause == "checkpoint_corrupt_or_mismatch"


def test_a_worker_that_its_leader_has_stopped_is_a_victim_of_the_leader() -> None:
    released = MemberReleased("worker 0", "failed", 137, "it failed with exit code 137")
    stop = StopRequested("cluster", "graceful", reason="worker 0: it failed with exit code 137")
    stopped = TrainerStopped(86, 0, 86, "train")
    evidence = attempt_of(FIT, released, stop, stopped, exited(75), state="stopped")
    assert causes(evidence)[0] == "worker_lost"


def test_a_member_that_waited_for_one_that_has_failed_is_its_victim() -> None:
    reason = "worker 1: its run has ended"
    stop = StopRequested("cluster", "now", "", reason=reason)
    ended = AttemptEnded(1, "stopped", 75, 0, None)
    for state, cause in (("failed", "worker_lost"), ("stopped", "stop_requested")):
        gone = MemberEnded("worker 1", "host", state, 1)
        finding = finding_of(attempt_of(STARTED, gone, stop, killed(), ended, state="stopped"))
        assert finding.cause == cause
        assert "worker 1" in finding.summary


def test_workers_that_were_suspended_together_are_not_said_to_have_lost_one() -> None:
    error = raised("AbortedError", "Collective ops is aborted by: heartbeat timeout", "Exception")
    told = Notice("suspended", "The run was suspended for 15 s.")
    finding = finding_of(attempt_of(STARTED, FIT, told, error, exited(1)))
    assert "suspended (Ctrl-Z" in finding.summary
    assert "15 s" in str(finding.evidence)
    for reason, is_named in (("its script raised AbortedError", False), ("its end", True)):
        broken = GangBroken("a-2", "worker 1", reason)
        victim = finding_of(attempt_of(STARTED, FIT, told, broken, killed(), state="stopped"))
        assert ("worker 1 was lost" in victim.summary) == is_named
    broken, released = (
        GangBroken("a-2", "worker 0", WAS_SUSPENDED),
        MemberReleased("worker 0", "stopped", 75, "it was stopped"),
    )
    for last in (broken, released):
        stopped = attempt_of(STARTED, FIT, told, error, last, exited(1), state="stopped")
        assert causes(stopped) == ["worker_lost"]
        assert "suspended (Ctrl-Z" in finding_of(stopped).summary


def test_a_leader_that_stopped_because_this_member_was_killed_does_not_explain_it() -> None:
    released = MemberReleased("worker 0", "stopped", 75, "it was stopped")
    ended = AttemptEnded(1, "failed", 137, 40, 30)
    evidence = attempt_of(STARTED, FIT, killed("SIGKILL"), released, ended, state="failed")
    assert finding_of(evidence).cause == "killed_from_outside"


@pytest.mark.parametrize(
    ("told", "cause", "resumes"),
    [
        (
            Notice("member_dismissed", "worker 1 failed (exit code 1)", "Look at worker 1."),
            "worker 1 failed",
            True,
        ),
        (
            Notice("member_over", "worker 1 had completed", "Use --new."),
            "worker 1 had completed",
            False,
        ),
    ],
)
def test_a_member_that_the_launch_ended_names_the_one_it_waited_for(
    told: Notice, cause: str, resumes: bool
) -> None:
    stop = stop_by_signal("SIGTERM", sender_pid=7, sender_command="pitstop launch")
    ended = AttemptEnded(1, "stopped", 75, 0, None)
    finding = finding_of(attempt_of(STARTED, stop, killed("SIGKILL"), ended, told, state="stopped"))
    assert finding.cause == "worker_lost"
    assert finding.summary.startswith(cause)
    assert finding.advice[0] == told.remedy
    assert any("same command again" in line for line in finding.advice) is resumes


@pytest.mark.parametrize(
    ("leader", "saves"),
    [
        ((LeaderFound("chief 0"),), "chief 0 resumes from what it has saved"),
        ((MemberReleased("chief 0", "stopped", 75, "why"),), "chief 0 resumes"),
        ((), "keeps only what the script itself saves"),
    ],
)
def test_what_a_server_comes_back_to_is_what_its_leader_has_saved(
    leader: tuple[Event, ...], saves: str
) -> None:
    nothing_saved = AttemptEnded(1, "stopped", 75, 0, None)
    finding = finding_of(attempt_of(PS, SERVER, *leader, *INTERRUPTED, nothing_saved))
    assert saves in finding.advice[-1]


def test_an_evaluator_does_not_start_the_training_over() -> None:
    config = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "evaluator", "index": 0}}'
    started = replace(STARTED, environment={"env": {"TF_CONFIG": config}})
    nothing_saved = AttemptEnded(1, "stopped", 75, 0, None)
    finding = finding_of(attempt_of(started, *INTERRUPTED, nothing_saved))
    assert "it evaluates what the training has saved" in finding.advice[-1]


def test_a_member_that_failed_before_it_was_released_tells_its_own_failure() -> None:
    released = MemberReleased("worker 0", "stopped", 75, "it was stopped")
    failed = raised("builtins.ValueError", "my bug")
    finding = finding_of(attempt_of(FIT, failed, released, exited(1), state="failed"))
    assert "my bug" in finding.summary


def test_a_suspended_member_that_was_released_while_it_was_killed_says_so() -> None:
    stalled = TrainingStalled(7.0, "train", 48, "stopped", WAS_SUSPENDED, action="kill")
    released = MemberReleased("chief 0", "failed", 1, "it failed with exit code 1")
    evidence = attempt_of(FIT, stalled, released, killed("SIGKILL"), state="failed")
    assert causes(evidence)[0] == "hang_or_stall"


@pytest.mark.parametrize(
    "gone",
    [
        MemberEnded("ps 1", "host", "lost"),
        MemberEnded("ps 1", "host", "failed", 137),
        MemberRestarted("ps 1", "host"),
    ],
)
def test_a_chief_without_its_parameter_server_names_it(gone: Event) -> None:
    chief = RoleTaken("coordinator", 7, "chief 0")
    worker = MemberEnded("worker 0", "host", "failed", 1)
    finding = finding_of(attempt_of(chief, worker, gone, exited(1), state="failed"))
    assert finding.cause == "worker_lost"
    assert "ps 1 on host" in finding.summary


@pytest.mark.parametrize("state", ["stopped", "failed"])
def test_a_chief_that_has_waited_for_a_worker_names_it(state: str) -> None:
    gone = Notice("worker_lost", "worker 1 is gone and the training cannot continue: ending it.")
    stop = StopRequested(
        "cluster", "now", reason="worker 1 is gone and the training cannot continue"
    )
    ended = killed("SIGKILL", oom_kills=None, kernel_lines=None)
    asked = (stop,) if state == "stopped" else ()
    finding = finding_of(attempt_of(COORDINATES, FIT, gone, *asked, ended, state=state))
    assert finding.cause == "worker_lost"
    assert finding.summary.startswith("worker 1 is gone")


def test_a_chief_that_was_killed_did_not_lose_the_servers_that_end_behind_it() -> None:
    chief = RoleTaken("monitored_session", 7, "chief 0")
    killed_first = killed("SIGKILL", oom_kills=None, kernel_lines=None)
    behind = MemberEnded("ps 0", "host", "stopped", 137)
    finding = finding_of(attempt_of(chief, FIT, killed_first, behind, state="failed"))
    assert finding.cause == "killed_from_outside"


def test_who_was_ended_because_another_member_was_lost_is_told_which() -> None:
    broken = GangBroken("a-2", "worker 1", "its process was killed by SIGKILL")
    stop = StopRequested("cluster", "now", reason="worker 1: its process was killed by SIGKILL")
    finding = finding_of(
        attempt_of(
            STARTED,
            broken,
            stop,
            killed("SIGKILL", oom_kills=None, kernel_lines=None),
            state="stopped",
        )
    )
    assert finding.cause == "worker_lost"
    assert "worker 1 was lost" in finding.summary


def test_a_member_fails_without_one_that_has_completed_before() -> None:
    """That one has not failed, and would not train again."""
    gang = GangFormed("gang", "worker 0", 2, "", "")
    left = MemberEnded("worker 1", "host", "completed", 0)
    failed = raised("tensorflow.UnavailableError", "Collective ops is aborted by: Socket closed")
    finding = finding_of(attempt_of(FIT, gang, failed, left, exited(1), state="failed"))
    assert finding.cause == "worker_lost"
    assert "worker 1 completed" in finding.summary
    assert "--new" in finding.advice[-1]
    own = attempt_of(FIT, gang, raised("builtins.KeyError", "x"), left, exited(1), state="failed")
    assert finding_of(own).cause == "user_code_error"
