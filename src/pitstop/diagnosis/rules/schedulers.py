"""Ends that a scheduler decided on: by its own record of the job, or by the job's clock.

States and reasons: "JOB STATE CODES" and "JOB REASON CODES" of Slurm's squeue(1) and
sacct(1); "Termination reasons" of IBM Spectrum LSF's bhist(1); the server's comments of PBS.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from pitstop.diagnosis import phrases
from pitstop.diagnosis.evidence import Evidence
from pitstop.diagnosis.finding import CauseId, EvidenceItem, Finding
from pitstop.durations import duration
from pitstop.events import JobSeen, JobState, StopRequested, TrainerExited
from pitstop.observation.schedulers import NAMES

_ASK: Mapping[str, str] = MappingProxyType(
    {
        "slurm": "`sacct -j {job} --format=JobID,State,Reason,ExitCode,Elapsed,Timelimit`",
        "lsf": "`bhist -l {job}`",
        "pbs": "`qstat -xf {job}`",
        "sge": "`qacct -j {job}`",
        "kubernetes": "`kubectl describe pod {job}` and `kubectl get events`",
    }
)

_FROM_OUTSIDE = frozenset(
    {"SIGTERM", "SIGKILL", "SIGHUP", "SIGINT", "SIGUSR1", "SIGUSR2", "SIGXCPU"}
)
"""Signals with which schedulers end jobs; others the program brings upon itself."""

_EARLY_SECONDS = 30.0
_LATE_SECONDS = 180.0
"""A signal at most this long before or after the job's end is the scheduler's."""

_CONFIDENCE_OF_RECORD = 0.99
_CONFIDENCE_OF_CLOCK = 0.93


@dataclass(frozen=True)
class _Meaning:
    """What a state or a reason of a job means."""

    pattern: re.Pattern[str]
    cause: CauseId
    words: str
    advice: str


def _row(pattern: str, cause: CauseId, words: str, advice: str) -> _Meaning:
    return _Meaning(re.compile(pattern, re.IGNORECASE), cause, words, advice)


_LONGER = "Ask for more time, or submit the same command again: it goes on in pieces."
_AGAIN = "Submit the same command again."

_MEANINGS = (
    _row(
        r"TIMEOUT|DEADLINE|TimeLimit|TERM_RUNLIMIT|TERM_CPULIMIT|TERM_WINDOW|"
        r"(?:walltime|cput)\b.*exceeded",
        "time_limit",
        "ended the job because its time was up",
        _LONGER,
    ),
    _row(
        r"OUT_OF_ME|OutOfMemory|TERM_MEMLIMIT|TERM_SWAP|mem\b.*exceeded",
        "host_oom_killed",
        "ended the job because it took more memory than it had asked for",
        "Ask for more memory (Slurm: `--mem`), or use less.",
    ),
    _row(r"PREEMPT", "preempted_or_terminated", "preempted the job", _AGAIN),
    _row(
        r"NODE_FAIL|BOOT_FAIL|NodeFail",
        "killed_from_outside",
        "says that the machine failed",
        f"{_AGAIN} Exclude the machine if it fails again.",
    ),
    _row(
        r"TERM_PROCESSLIMIT|TERM_THREADLIMIT",
        "thread_or_process_limit",
        "ended the job because it had too many processes or threads",
        "Use fewer workers and threads, or ask for a higher limit.",
    ),
    _row(
        r"CANCELLED|REVOKED|TERM_OWNER|TERM_ADMIN|TERM_FORCE|TERM_LOAD|TERM_REQUEUE",
        "preempted_or_terminated",
        "says that the job was cancelled",
        f"{_AGAIN} It was somebody's decision, not a limit.",
    ),
)


def name_of(scheduler: str) -> str:
    return NAMES.get(scheduler, scheduler)


def job_record(evidence: Evidence) -> Finding | None:
    """The scheduler itself says why it ended the job."""
    told = evidence.last(JobState)
    if told is None or not _ended_by_signal(evidence):
        return None
    said = _said(told)
    meaning = next((each for each in _MEANINGS if each.pattern.search(said)), None)
    if meaning is None:
        return None
    text = f"{name_of(told.scheduler)} {meaning.words} (job {told.job}: {said})"
    seen = (*job_items(evidence), *_signal_items(evidence))
    return Finding(
        meaning.cause, _CONFIDENCE_OF_RECORD, f"{text}{_how(evidence)}.", seen, (meaning.advice,)
    )


def job_clock(evidence: Evidence) -> Finding | None:
    """The signal came when the job's time was up."""
    job, at = evidence.last(JobSeen), _signalled_at(evidence)
    if job is None or job.ends_at_seconds is None or at is None:
        return None
    late = at - job.ends_at_seconds
    if not -_EARLY_SECONDS <= late <= _LATE_SECONDS or _says_otherwise(evidence):
        return None
    name = name_of(job.scheduler)
    text = f"The time of {name} job {job.job} was up when it was ended{_how(evidence)}."
    seen = (*job_items(evidence), *_signal_items(evidence))
    return Finding("time_limit", _CONFIDENCE_OF_CLOCK, text, seen, (_LONGER,))


def job_items(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    """What is known of the job that the attempt ran in."""
    job, told = evidence.last(JobSeen), evidence.last(JobState)
    if job is None:
        return ()
    texts = [f"{name_of(job.scheduler)} job {job.job}{_left(evidence, job)}"]
    texts += [f"{name_of(job.scheduler)} says of it: {_said(told)}"] if told and told.state else []
    return tuple(EvidenceItem("scheduler", text) for text in texts)


def ask(job: JobSeen) -> str:
    """How to ask the scheduler for the job; empty where there is no such command."""
    return _ASK.get(job.scheduler, "").format(job=job.job)


def _said(told: JobState) -> str:
    return " ".join(part for part in (told.state, told.reason) if part)


def _left(evidence: Evidence, job: JobSeen) -> str:
    if job.ends_at_seconds is None or not evidence.entries:
        return ""
    left = job.ends_at_seconds - evidence.entries[-1].time_seconds
    if left < 0:
        return f", whose time was up {duration(-left)} before the end of the attempt"
    return f", whose time would have lasted {duration(left)} longer"


def _ended_by_signal(evidence: Evidence) -> bool:
    """Whether something from outside ended it: a signal to Pitstop or to the trainer."""
    stop = evidence.stop
    asked = stop is not None and stop.source == "signal" and not stop.from_terminal
    by_force = stop is None and evidence.signal in _FROM_OUTSIDE
    return evidence.state != "completed" and (asked or by_force)


def _signalled_at(evidence: Evidence) -> float | None:
    """When the signal came that ended it, None when none did."""
    if not _ended_by_signal(evidence):
        return None
    kinds = (StopRequested, TrainerExited)
    times = (each.time_seconds for each in evidence.entries if isinstance(each.event, kinds))
    return next(times, None)


def _says_otherwise(evidence: Evidence) -> bool:
    told = evidence.last(JobState)
    return told is not None and any(each.pattern.search(_said(told)) for each in _MEANINGS)


def _signal_items(evidence: Evidence) -> tuple[EvidenceItem, ...]:
    stop = evidence.stop
    if stop is None:
        return (EvidenceItem("exit status", f"ended by {evidence.signal}"),)
    command = phrases.shorten(stop.sender_command, 60)
    sender = f" from `{command}`" if command else ""
    return (EvidenceItem("journal", f"{stop.signal} reached Pitstop{sender}"),)


def _how(evidence: Evidence) -> str:
    if evidence.state == "stopped" and evidence.checkpoint_step is not None:
        return f"; it stopped, saved at step {evidence.checkpoint_step:,}"
    return ""
