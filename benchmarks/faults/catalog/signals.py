"""Signals and schedulers (26 to 35)."""

from __future__ import annotations

from dataclasses import replace

from benchmarks.faults.ground import around, slurm_job, stubs, words
from benchmarks.faults.scenario import Scenario, scenario
from benchmarks.faults.strikes import (
    signals_as,
    signals_child_of_wrapper,
    signals_command,
    slurm_ends,
)
from pitstop.diagnosis.finding import CauseId

_JOB = "JobId=4711 JobName=train UserId=ada(1000) JobState={} Reason={} Dependency=(null)"
_RUNNING = "RUNNING|None"
_LONG = "--epochs 200"
_POD = words(KUBERNETES_SERVICE_HOST="10.0.0.1", POD_NAME="train-0", POD_NAMESPACE="ml")


def _signalled(name: str, signal: str, place: str, args: str = "") -> Scenario:
    cause: CauseId = "user_interrupt" if signal == "INT" else "preempted_or_terminated"
    return scenario(
        name,
        cause,
        args=args,
        fault=f"wait@{place}",
        among="signals",
        says=f"SIG{signal}",
        strike=signals_command(signal),
    )


def _slurm(
    name: str,
    cause: CauseId,
    answers: tuple[str, str],
    words_of_slurm: str,
    *,
    says: str = "",
    args: str = "",
) -> Scenario:
    sacct, scontrol = answers
    # A Slurm that foresees the end of the job would have Pitstop stop before it.
    job = slurm_job() if cause == "time_limit" else slurm_job(86_400.0)
    return scenario(
        name,
        cause,
        args=f"{_LONG} {args}",
        fault="wait@batch:12",
        among="slurm",
        says=says,
        grounds=(job, stubs(sacct=sacct, scontrol=scontrol)),
        strike=slurm_ends(words_of_slurm),
    )


SIGNALS: tuple[Scenario, ...] = (
    _signalled("26a-sigterm-in-an-epoch", "TERM", "batch:27", "--decoys memory"),
    _signalled("26b-sigterm-in-the-import", "TERM", "import"),
    _signalled("26c-sigterm-in-the-validation", "TERM", "test:2", "--validation --model digits"),
    _slurm(
        "27a-slurm-time-limit",
        "time_limit",
        (_RUNNING, _JOB.format("COMPLETING", "TimeLimit")),
        " DUE TO TIME LIMIT",
    ),
    # Nobody ends a plain training here.
    replace(
        scenario(
            "27b-slurm-time-limit-foreseen",
            "time_limit",
            args=_LONG,
            among="slurm",
            says="left of",
            grounds=(
                slurm_job(25.0),
                stubs(sacct=_RUNNING, scontrol=_JOB.format("RUNNING", "None")),
            ),
        ),
        plain=False,
    ),
    _slurm(
        "28-scancel",
        "preempted_or_terminated",
        ("CANCELLED by 1000|None", _JOB.format("CANCELLED", "None")),
        "",
        says="cancel",
        args="--model text",
    ),
    _slurm(
        "29-slurm-preemption",
        "preempted_or_terminated",
        ("PREEMPTED|None", _JOB.format("PREEMPTED", "None")),
        " DUE TO PREEMPTION",
        says="preempt",
        args="--input pipeline",
    ),
    scenario(
        "30-kubernetes-eviction",
        "preempted_or_terminated",
        args=_LONG,
        fault="wait@batch:12",
        among="signals",
        says="SIGTERM",
        grounds=(_POD, around("unshare", "--pid", "--fork", "--mount-proc")),
        strike=signals_child_of_wrapper("TERM"),
    ),
    _signalled("31a-sigint", "INT", "batch:27", "--model text"),
    scenario(
        "31b-interrupted-in-the-script",
        "user_interrupt",
        fault="interrupt@batch:27",
        among="signals",
    ),
    _signalled("32-sighup", "HUP", "batch:27"),
    scenario(
        "33a-timeout-around-pitstop",
        "time_limit",
        args=_LONG,
        among="signals",
        says="timeout",
        grounds=(around("timeout", "14"),),
    ),
    scenario(
        "33b-timeout-around-the-script",
        "time_limit",
        args=_LONG,
        among="signals",
        says="timeout",
        grounds=(around(inner=("timeout", "14")),),
    ),
    scenario(
        "34-processor-time-soft",
        "time_limit",
        fault="burn@batch:12",
        among="signals",
        says="processor time",
        grounds=(words(inner="ulimit -S -t 12"),),
    ),
    scenario(
        "35a-reader-of-the-log-gone",
        "user_code_error",
        args=_LONG,
        says="pipe",
        grounds=(around(inner=("bash", "-o", "pipefail", "-c", '"$@" | head -3', "bash")),),
    ),
    scenario("35b-helper-gone", "user_code_error", fault="pipe@end", says="pipe"),
    scenario(
        "35c-told-to-end-by-a-job-manager",
        "preempted_or_terminated",
        args="--decoys benign killed",
        fault="wait@batch:12",
        says="agent",
        strike=signals_as("/opt/jobmanager/agent", "TERM"),
    ),
)
