"""Which scheduler a process runs under, and how its records are read.  Pure.

Environment variables and formats: sbatch(1), scontrol(1) and sacct(1) of Slurm; bjobs(1) and
"Environment variables" of IBM Spectrum LSF; qstat(1B) of PBS; submit(1) of Grid Engine;
"Accessing the Kubernetes API from a Pod" of Kubernetes.
"""

import re
from collections.abc import Callable, Mapping, Sequence

from pitstop.events import JobSeen
from pitstop.record import Frozen

_STILL_GOING_ON = frozenset({"RUNNING", "COMPLETING", "RUN", "R", "E", ""})
_PAIR = re.compile(r"(?:^|\s)(\w+)=(\S*)")
_PBS_LINE = re.compile(r"^\s*([\w.]+) = (.*)$", re.MULTILINE)

NAMES: Mapping[str, str] = {
    "slurm": "Slurm",
    "lsf": "LSF",
    "pbs": "PBS",
    "sge": "Grid Engine",
    "kubernetes": "Kubernetes",
    "colab": "Colab",
}

_FACTS: Mapping[str, tuple[str, ...]] = {
    "slurm": ("SLURM_JOB_PARTITION", "SLURM_RESTART_COUNT", "SLURM_MEM_PER_NODE"),
    "lsf": ("LSB_QUEUE",),
    "pbs": ("PBS_QUEUE",),
    "sge": ("QUEUE",),
    "kubernetes": ("POD_NAMESPACE", "NODE_NAME"),
    "colab": ("COLAB_RELEASE_TAG",),
}

SLURM_JOB_END = "SLURM_JOB_END_TIME"
"""Environment variable: when the time of the job is up, in seconds since the epoch."""


class SchedulerAnswer(Frozen):
    """What a scheduler said of a job: its state, and why, in its own words."""

    state: str = ""
    reason: str = ""

    @property
    def is_final(self) -> bool:
        return self.state not in _STILL_GOING_ON or bool(self.reason)


class Question(Frozen):
    """A command that asks for a job, and how its output is read."""

    words: tuple[str, ...]
    read: Callable[[str], SchedulerAnswer]


def find(environment: Mapping[str, str]) -> JobSeen | None:
    """The job that a process of this environment belongs to; None outside of one."""
    kinds = {
        "slurm": environment.get("SLURM_JOB_ID", ""),
        "lsf": environment.get("LSB_JOBID", ""),
        "pbs": environment.get("PBS_JOBID", ""),
        "sge": environment.get("JOB_ID", "") if "SGE_ROOT" in environment else "",
        "kubernetes": _pod(environment),
        "colab": "notebook" if "COLAB_RELEASE_TAG" in environment else "",
    }
    found = next(((kind, job) for kind, job in kinds.items() if job), None)
    if found is None:
        return None
    kind, job = found
    facts = {name: environment[name] for name in _FACTS[kind] if environment.get(name)}
    return JobSeen(kind, job, end_seconds(environment) if kind == "slurm" else None, facts)


def questions(scheduler: str, job: str) -> tuple[Question, ...]:
    """The commands to ask, the best first; none where a job cannot be asked for from inside."""
    match scheduler:
        case "slurm":
            return (
                Question(("sacct", "-X", "-n", "-P", "-j", job, "-o", "State,Reason"), read_sacct),
                Question(("scontrol", "-o", "show", "job", job), read_scontrol),
            )
        case "lsf":
            words = ("bjobs", "-a", "-noheader", "-o", "stat exit_reason delimiter='|'", job)
            return (Question(words, read_bjobs),)
        case "pbs":
            return (Question(("qstat", "-f", job), read_qstat),)
        case _:
            return ()


def best(answers: Sequence[SchedulerAnswer]) -> SchedulerAnswer:
    final = (answer for answer in answers if answer.is_final)
    return next(final, next(iter(answers), SchedulerAnswer()))


def read_sacct(text: str) -> SchedulerAnswer:
    """Of `sacct -X -n -P -o State,Reason`: the last line, "CANCELLED by 1000|None"."""
    lines = [line for line in text.splitlines() if line.strip()]
    state, _, reason = lines[-1].partition("|") if lines else ("", "", "")
    return SchedulerAnswer(state.strip(), _told(reason))


def read_scontrol(text: str) -> SchedulerAnswer:
    """Of `scontrol -o show job`: one that is being ended is COMPLETING; its reason says why."""
    pairs = dict(_PAIR.findall(text))
    preempted = pairs.get("PreemptTime", "None") not in ("None", "Unknown", "")
    reason = "Preempted" if preempted else _told(pairs.get("Reason", ""))
    return SchedulerAnswer(pairs.get("JobState", ""), reason)


def read_bjobs(text: str) -> SchedulerAnswer:
    """Of `bjobs -o "stat exit_reason delimiter='|'"`: "EXIT|TERM_RUNLIMIT: ..."."""
    state, _, reason = text.strip().partition("|")
    return SchedulerAnswer(state.strip(), _told(reason))


def read_qstat(text: str) -> SchedulerAnswer:
    pairs = dict(_PBS_LINE.findall(text))
    comment = pairs.get("comment", "")
    return SchedulerAnswer(
        pairs.get("job_state", ""), "" if comment.startswith("Job run at") else comment
    )


def _told(reason: str) -> str:
    return "" if reason.strip() in ("None", "-", "") else reason.strip()


def _pod(environment: Mapping[str, str]) -> str:
    if "KUBERNETES_SERVICE_HOST" not in environment:
        return ""
    return environment.get("POD_NAME") or environment.get("HOSTNAME", "") or "this pod"


def end_seconds(environment: Mapping[str, str]) -> float | None:
    """When the time of a Slurm job is up, in seconds since the epoch; None where not told."""
    end = environment.get(SLURM_JOB_END, "")
    return float(end) if end.isascii() and end.isdecimal() else None
