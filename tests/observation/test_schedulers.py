"""Which job a process belongs to, and what schedulers print about one."""

from __future__ import annotations

import pytest

from pitstop.events import JobSeen
from pitstop.observation import schedulers
from pitstop.observation.schedulers import SchedulerAnswer

SCONTROL = (
    "JobId=7 JobName=cnn UserId=ann(1000) GroupId=ann(1000) JobState={state} Reason={reason} "
    "Dependency=(null) Requeue=1 Restarts=0 PreemptEligibleTime=2026-11-21T10:00:00 "
    "PreemptTime={preempted} TimeLimit=01:00:00 ExitCode=0:15\n"
)
QSTAT = "Job Id: 9.head\n    Job_Name = cnn\n    job_state = {state}\n    comment = {comment}\n"

ENVIRONMENTS: list[tuple[dict[str, str], JobSeen | None]] = [
    ({"PATH": "/bin", "HOSTNAME": "box"}, None),
    ({"SLURM_JOB_ID": "7"}, JobSeen("slurm", "7")),
    (
        {"SLURM_JOB_ID": "7", "SLURM_JOB_END_TIME": "1790000000", "SLURM_RESTART_COUNT": "2"},
        JobSeen("slurm", "7", 1790000000.0, {"SLURM_RESTART_COUNT": "2"}),
    ),
    ({"LSB_JOBID": "8", "LSB_QUEUE": "gpu"}, JobSeen("lsf", "8", None, {"LSB_QUEUE": "gpu"})),
    ({"PBS_JOBID": "9.head"}, JobSeen("pbs", "9.head")),
    ({"JOB_ID": "4"}, None),
    ({"JOB_ID": "4", "SGE_ROOT": "/sge"}, JobSeen("sge", "4")),
    ({"KUBERNETES_SERVICE_HOST": "10.0.0.1", "HOSTNAME": "cnn-0"}, JobSeen("kubernetes", "cnn-0")),
    ({"COLAB_RELEASE_TAG": "r"}, JobSeen("colab", "notebook", None, {"COLAB_RELEASE_TAG": "r"})),
]


@pytest.mark.parametrize(("environment", "seen"), ENVIRONMENTS)
def test_the_job_that_the_environment_tells_of(
    environment: dict[str, str], seen: JobSeen | None
) -> None:
    assert schedulers.find(environment) == seen


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("", SchedulerAnswer()),
        ("TIMEOUT|TimeLimit\n", SchedulerAnswer("TIMEOUT", "TimeLimit")),
        ("REQUEUED|None\nCANCELLED by 1000|None\n", SchedulerAnswer("CANCELLED by 1000")),
    ],
)
def test_sacct(text: str, answer: SchedulerAnswer) -> None:
    assert schedulers.read_sacct(text) == answer


@pytest.mark.parametrize(
    ("state", "reason", "preempted", "answer"),
    [
        ("RUNNING", "None", "None", SchedulerAnswer("RUNNING")),
        ("COMPLETING", "TimeLimit", "None", SchedulerAnswer("COMPLETING", "TimeLimit")),
        ("COMPLETING", "None", "2026-11-21T10:20:00", SchedulerAnswer("COMPLETING", "Preempted")),
    ],
)
def test_scontrol(state: str, reason: str, preempted: str, answer: SchedulerAnswer) -> None:
    text = SCONTROL.format(state=state, reason=reason, preempted=preempted)
    assert schedulers.read_scontrol(text) == answer


def test_bjobs() -> None:
    text = "EXIT|TERM_RUNLIMIT: job killed after reaching LSF run time limit\n"
    reason = "TERM_RUNLIMIT: job killed after reaching LSF run time limit"
    assert schedulers.read_bjobs(text) == SchedulerAnswer("EXIT", reason)
    assert schedulers.read_bjobs("RUN|-\n") == SchedulerAnswer("RUN")


def test_qstat() -> None:
    killed = QSTAT.format(state="E", comment="job killed: walltime 3610 exceeded limit 3600")
    reason = "job killed: walltime 3610 exceeded limit 3600"
    assert schedulers.read_qstat(killed) == SchedulerAnswer("E", reason)
    running = QSTAT.format(state="R", comment="Job run at Sat Nov 21 at 10:00 on (n1:ncpus=8)")
    assert schedulers.read_qstat(running) == SchedulerAnswer("R")


def test_the_answer_that_tells_an_end_counts() -> None:
    running, preempted = SchedulerAnswer("RUNNING"), SchedulerAnswer("COMPLETING", "Preempted")
    assert schedulers.best([running, preempted]) == preempted
    assert schedulers.best([running]) == running
    assert schedulers.best([]) == SchedulerAnswer()


def test_a_scheduler_that_cannot_be_asked_from_inside_is_not() -> None:
    assert schedulers.questions("kubernetes", "cnn-0") == ()
