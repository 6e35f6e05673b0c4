"""Ends that a scheduler decided on, next to signals that only look like it."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import CauseId, Evidence
from pitstop.events import Event, JobSeen, JobState, StopRequested
from tests.diagnosis.attempts import (
    FINISHED,
    OOM_LINES,
    STOPPED_CLEANLY,
    Case,
    advice_of,
    as_parameters,
    check,
    completed,
    exited,
    failed,
    finding_of,
    killed,
    raised,
    stop_by_signal,
    stopped,
)

# The entries of these attempts are written from second 1000 on, one each second.
NOW = 1004.0
JOB = JobSeen("slurm", "7")
ENDS_NOW = JobSeen("slurm", "7", NOW + 5)
ENDS_LATER = JobSeen("slurm", "7", NOW + 7200)
NO_ANSWER = JobState("slurm", "7", problem="no sacct or scontrol on this machine")


def said(state: str, reason: str = "", scheduler: str = "slurm") -> JobState:
    return JobState(scheduler, "7", state, reason, ["sacct -j 7"])


def terminated(*events: Event) -> Evidence:
    """SIGTERM reached Pitstop, and the training stopped in time."""
    return stopped(*events, stop_by_signal("SIGTERM"), *STOPPED_CLEANLY)


CASES: list[Case] = [
    ("time limit, on record", terminated(JOB, said("TIMEOUT")), "time_limit"),
    (
        "time limit, while the job is being ended",
        terminated(JOB, said("COMPLETING", "TimeLimit")),
        "time_limit",
    ),
    ("time limit, by the clock alone", terminated(ENDS_NOW), "time_limit"),
    ("killed when the time was up", failed(ENDS_NOW, killed()), "time_limit"),
    ("LSF's run limit", terminated(said("EXIT", "TERM_RUNLIMIT: ...", "lsf")), "time_limit"),
    (
        "PBS's walltime",
        terminated(said("E", "job killed: walltime 3610 exceeded limit 3600", "pbs")),
        "time_limit",
    ),
    ("scancel", terminated(ENDS_LATER, said("CANCELLED by 1000")), "preempted_or_terminated"),
    (
        "scancel at the last moment",
        terminated(ENDS_NOW, said("CANCELLED by 1000")),
        "preempted_or_terminated",
    ),
    ("no record, much time left", terminated(ENDS_LATER), "preempted_or_terminated"),
    ("preempted", terminated(JOB, said("PREEMPTED")), "preempted_or_terminated"),
    (
        "a job too large for its memory",
        failed(JOB, killed(), said("OUT_OF_MEMORY")),
        "host_oom_killed",
    ),
    ("the machine failed", failed(JOB, killed(), said("NODE_FAIL")), "killed_from_outside"),
    (
        "the kernel's word on its memory, at the end of its time",
        failed(ENDS_NOW, killed(kernel_lines=OOM_LINES, oom_kills=1)),
        "host_oom_killed",
    ),
    ("a job that goes on", failed(JOB, killed(), said("RUNNING")), "killed_from_outside"),
    (
        "its own error at the end of its time",
        failed(ENDS_NOW, raised("ValueError", "x"), exited(1)),
        "user_code_error",
    ),
    (
        "a crash at the end of its time",
        failed(ENDS_NOW, killed("SIGSEGV")),
        "native_crash",
    ),
    (
        "Ctrl-C at the end of its time",
        stopped(ENDS_NOW, stop_by_signal("SIGINT", from_terminal=True), *STOPPED_CLEANLY),
        "user_interrupt",
    ),
    (
        "a request at the end of its time",
        stopped(ENDS_NOW, StopRequested("command", "graceful"), *STOPPED_CLEANLY),
        "stop_requested",
    ),
    ("finished in time", completed(ENDS_NOW, *FINISHED), "completed_normally"),
]


@pytest.mark.parametrize(("evidence", "cause"), as_parameters(CASES))
def test_cause(evidence: Evidence, cause: CauseId) -> None:
    check(evidence, cause)


def test_the_record_and_the_job_are_quoted() -> None:
    texts = [
        item.text for item in finding_of(terminated(JOB, said("TIMEOUT", "TimeLimit"))).evidence
    ]
    assert "Slurm job 7" in texts
    assert "Slurm reports: TIMEOUT TimeLimit" in texts


def test_a_scheduler_of_a_newer_version_is_called_by_its_name() -> None:
    told = JobState("flux", "f7", "TIMEOUT")
    assert finding_of(terminated(JobSeen("flux", "f7"), told)).summary.startswith("flux ended the")


def test_the_time_that_was_left_is_told() -> None:
    texts = [item.text for item in finding_of(terminated(ENDS_LATER)).evidence]
    assert "Slurm job 7, which had 1 h 59 min of its time left" in texts


@pytest.mark.parametrize(
    ("job", "command"),
    [
        (JOB, "sacct -j 7 "),
        (JobSeen("kubernetes", "cnn-0"), "kubectl describe pod cnn-0"),
        (JobSeen("lsf", "7"), "bhist -l 7"),
        (JobSeen("pbs", "7"), "qstat -xf 7"),
    ],
)
def test_without_an_answer_the_advice_is_to_ask_for_this_job(job: JobSeen, command: str) -> None:
    assert command in advice_of(terminated(job))[0]


def test_a_scheduler_that_could_not_be_asked_is_missing() -> None:
    lack = "what the scheduler did with job 7 (no sacct or scontrol on this machine)"
    assert lack in finding_of(failed(JOB, killed(), NO_ANSWER)).missing
    assert lack not in finding_of(failed(JOB, raised("KeyError"), exited(1), NO_ANSWER)).missing
