"""The report on a run, before it takes a form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pitstop.diagnosis import Diagnosis, Evidence, diagnose, load
from pitstop.errors import RunNotFound
from pitstop.report import recorded
from pitstop.report.course import telling_first
from pitstop.report.facts import Fact, facts
from pitstop.report.progress import Progress, progress
from pitstop.report.timeline import Panel, Timeline

_OUTPUT_LINES = 40
_LINE_CHARACTERS = 400


@dataclass(frozen=True)
class WhyReport:
    """Why each attempt of a run ended.

    Attributes:
        name: the run's folder or the log file, as the user named it.
        last: the newest attempt, or the one that was asked for.
        earlier: those before it, the oldest first.
        damaged_lines: journal lines that could not be read.
        attempts: how far each of them came, the oldest first; empty for a log file.
        timeline: of the last one, None where nothing was recorded.
        losses: of each of them over the steps of the run, where there are several.
        facts: what was run, where, and with what.
        output: its last lines.
    """

    name: str
    last: Diagnosis
    earlier: tuple[Diagnosis, ...] = ()
    damaged_lines: int = 0
    attempts: tuple[Progress, ...] = ()
    timeline: Timeline | None = None
    losses: Panel | None = None
    facts: tuple[Fact, ...] = ()
    output: tuple[str, ...] = ()


def why(run_dir: Path, *, live: bool, attempt: int | None = None) -> WhyReport:
    """The report on a run.

    Args:
        run_dir: the run's folder.
        live: its supervisor is still there.
        attempt: the one to report on, None for the newest.

    Raises:
        RunNotFound: the folder holds no run, one that never began, or no such attempt.
    """
    found = load.from_run(run_dir, is_live=live)
    attempts = _up_to(found.attempts, attempt)
    diagnoses = [diagnose(each) for each in attempts]
    went = tuple(
        progress(evidence, diagnosis, recorded.last_step(run_dir, evidence.attempt))
        for evidence, diagnosis in zip(attempts, diagnoses, strict=True)
    )
    return WhyReport(
        name=str(run_dir),
        last=diagnoses[-1],
        earlier=tuple(diagnoses[:-1]),
        damaged_lines=found.damaged_lines,
        attempts=went,
        timeline=telling_first(recorded.timeline(run_dir, attempts[-1]), went[-1].cause),
        losses=recorded.losses(run_dir, [each.attempt for each in attempts]),
        facts=facts(attempts[-1]),
        output=_last_lines(attempts[-1].output),
    )


def why_log(path: Path, *, exit_code: int | None = None, signal: str = "") -> WhyReport:
    """The report on nothing but a log file.

    Args:
        path: the log.
        exit_code: what the process returned, where that is known.
        signal: the name of the signal that ended it ("SIGKILL"), or empty.

    Raises:
        RunNotFound: the log cannot be read.
    """
    evidence = load.from_log(path, exit_code=exit_code, signal=signal)
    return WhyReport(str(path), diagnose(evidence))


def _last_lines(text: str) -> tuple[str, ...]:
    lines = [line.rstrip()[:_LINE_CHARACTERS] for line in text.splitlines() if line.strip()]
    return tuple(lines[-_OUTPUT_LINES:])


def _up_to(attempts: tuple[Evidence, ...], attempt: int | None) -> tuple[Evidence, ...]:
    if attempt is None:
        return attempts
    kept = tuple(each for each in attempts if each.attempt <= attempt)
    if not kept or kept[-1].attempt != attempt:
        numbers = ", ".join(str(each.attempt) for each in attempts)
        raise RunNotFound(f"The run has no attempt {attempt}.", f"Name one of {numbers}.")
    return kept
