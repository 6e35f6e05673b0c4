"""Ends that a scheduler decided on: by its own record of the job, or by the job's clock.

States and reasons: "JOB STATE CODES" and "JOB REASON CODES" of Slurm's squeue(1) and
sacct(1); "Termination reasons" of IBM Spectrum LSF's bhist(1); the server's comments of PBS.
"""

import re
from collections.abc import Mapping

from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import EvidenceItem, Finding
from pitstop.diagnosis.wording import FINDINGS, tell
from pitstop.durations import duration
from pitstop.events import JobSeen, JobState, StopRequested, TrainerExited
from pitstop.observation.schedulers import NAMES

_ASK: Mapping[str, str] = {
    "slurm": "`sacct -j {job} --format=JobID,State,Reason,ExitCode,Elapsed,Timelimit`",
    "lsf": "`bhist -l {job}`",
    "pbs": "`qstat -xf {job}`",
    "sge": "`qacct -j {job}`",
    "kubernetes": "`kubectl describe pod {job}` and `kubectl get events`",
}

_FROM_OUTSIDE = frozenset(
    {"SIGTERM", "SIGKILL", "SIGHUP", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGXCPU"}
)
"""Signals with which schedulers end jobs; a program causes the others itself."""

_EARLY_SECONDS = 30.0
_LATE_SECONDS = 180.0  # a signal at most this long before or after the job's end is the scheduler's

_STATES = {name: re.compile(row["states"]) for name, row in FINDINGS.items() if "states" in row}


def name_of(scheduler: str) -> str:
    return NAMES.get(scheduler, scheduler)


def job_record(evidence: Evidence) -> Finding | None:
    told = evidence.last(JobState)
    if told is None or not _ended_by_signal(evidence):
        return None
    name = _meaning_of(told)
    if not name:
        return None
    seen = (*job_items(evidence), *_signal_items(evidence))
    how, scheduler, said = _how(evidence), name_of(told.scheduler), _said(told)
    return tell(name, seen, scheduler=scheduler, job=told.job, said=said, how=how)


def job_clock(evidence: Evidence) -> Finding | None:
    job, at = evidence.last(JobSeen), _signalled_at(evidence)
    if job is None or job.ends_at_seconds is None or at is None:
        return None
    late = at - job.ends_at_seconds
    told = evidence.last(JobState)
    if not -_EARLY_SECONDS <= late <= _LATE_SECONDS or (told and _meaning_of(told)):
        return None
    seen = (*job_items(evidence), *_signal_items(evidence))
    how, scheduler = _how(evidence), name_of(job.scheduler)
    return tell("job_clock", seen, scheduler=scheduler, job=job.job, how=how)


def job_items(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    job, told = evidence.last(JobSeen), evidence.last(JobState)
    if job is None:
        return ()
    texts = [f"{name_of(job.scheduler)} job {job.job}{_left(evidence, job)}"]
    texts += [f"{name_of(job.scheduler)} reports: {_said(told)}"] if told and told.state else []
    return tuple(EvidenceItem("scheduler", text) for text in texts)


def ask(job: JobSeen) -> str:
    return _ASK.get(job.scheduler, "").format(job=job.job)


def _said(told: JobState) -> str:
    return " ".join(part for part in (told.state, told.reason) if part)


def _left(evidence: Evidence, job: JobSeen) -> str:
    if job.ends_at_seconds is None or not evidence.entries:
        return ""
    left = job.ends_at_seconds - evidence.entries[-1].time_seconds
    if left < 0:
        return f", whose time ended {duration(-left)} before the attempt did"
    return f", which had {duration(left)} of its time left"


def _ended_by_signal(evidence: Evidence) -> bool:
    stop = evidence.stop
    asked = stop is not None and stop.source == "signal" and not stop.from_terminal
    by_force = stop is None and evidence.signal in _FROM_OUTSIDE
    return evidence.state != "completed" and (asked or by_force)


def _signalled_at(evidence: Evidence) -> float | None:
    if not _ended_by_signal(evidence):
        return None
    kinds = (StopRequested, TrainerExited)
    times = (each.time_seconds for each in evidence.entries if isinstance(each.event, kinds))
    return next(times, None)


def _meaning_of(told: JobState) -> str:
    return next((name for name, states in _STATES.items() if states.search(_said(told))), "")


def _signal_items(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    stop = evidence.stop
    if stop is None:
        return (evidence.ended_by_signal,)
    command = phrases.shorten(stop.sender_command, 60)
    sender = f" from `{command}`" if command else ""
    return (EvidenceItem("journal", f"{stop.signal} reached Pitstop{sender}"),)


def _how(evidence: Evidence) -> str:
    if evidence.state == "stopped" and evidence.checkpoint_step is not None:
        return f"; it stopped, saved at step {evidence.checkpoint_step:,}"
    return ""
