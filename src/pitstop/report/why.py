"""The report on a run, before it takes a form: what happened, and how far each attempt came."""

import shlex
from collections.abc import Container, Iterable, Iterator, Sequence
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path

from pitstop import events, steps
from pitstop.diagnosis import Diagnosis, Evidence, diagnose, load, phrases
from pitstop.errors import RunNotFound
from pitstop.flight import files
from pitstop.flight.sample import Sample
from pitstop.record import Frozen
from pitstop.report.panels import timeline_of
from pitstop.report.timeline import Timeline
from pitstop.store.run_folder import ATTEMPTS_DIR

_GOES_ON = ("running", "stopped", "completed")


class AttemptProgress(Frozen):
    """One attempt in a line; no cause while it runs, no checkpoint step while nothing is saved."""

    attempt: int
    state: str
    cause: str
    started_seconds: float
    ended_seconds: float
    first_step: int
    last_step: int
    checkpoint_step: int | None

    @property
    def seconds(self) -> float:
        return max(0.0, self.ended_seconds - self.started_seconds)


def progress(evidence: Evidence, diagnosis: Diagnosis, recorded_step: int) -> AttemptProgress:
    """How far an attempt came; `recorded_step` is the last in its own record, 0 without one."""
    begun = evidence.first(events.Restored) or evidence.first(events.ResumeChosen)
    last = max(recorded_step, diagnosis.step or 0)
    # Its leader restores the steps, from a number that it does not tell.
    follows = evidence.last(events.RoleTaken) and evidence.last(events.LeaderFound)
    first = begun.step if begun is not None else last if follows else 0
    return AttemptProgress(
        attempt=evidence.attempt,
        state=diagnosis.state,
        cause=diagnosis.finding.cause if diagnosis.finding else "",
        started_seconds=evidence.entries[0].time_seconds,
        ended_seconds=evidence.entries[-1].time_seconds,
        first_step=first,
        last_step=max(first, last),
        checkpoint_step=diagnosis.checkpoint_step,
    )


def compare(attempts: Sequence[AttemptProgress]) -> tuple[str, ...]:
    """What the last attempt has in common with those before it, one sentence each."""
    return tuple(_sentences(attempts)) if len(attempts) > 1 else ()


def _sentences(attempts: Sequence[AttemptProgress]) -> Iterator[str]:
    last = attempts[-1]
    again = _same_cause(attempts)
    if again > 1:
        steps = {each.last_step for each in attempts[-again:]}
        where = f", each at step {steps.pop():,}" if len(steps) == 1 else ""
        yield f"The last {again} attempts ended with the same cause, {last.cause}{where}."
    before = max(each.last_step for each in attempts[:-1])
    gained = last.last_step - before
    if gained > 0:
        yield f"This attempt got {phrases.steps(gained)} further than the earlier ones."
    elif before and last.state not in _GOES_ON:
        best = max(attempts, key=lambda each: (each.last_step, -each.attempt))
        yield f"No attempt since attempt {best.attempt} got further than step {before:,}."
    # Steps that an attempt had reached and a later one began before.
    pairs = pairwise(each for each in attempts if each.last_step > each.first_step)
    repeated = sum(max(0, earlier.last_step - later.first_step) for earlier, later in pairs)
    if repeated:
        yield f"Over {len(attempts)} attempts, {phrases.steps(repeated)} had to be repeated."


def _same_cause(attempts: Sequence[AttemptProgress]) -> int:
    last = attempts[-1]
    if last.state in _GOES_ON:
        return 0
    different = (i for i, each in enumerate(reversed(attempts)) if each.cause != last.cause)
    return next(different, len(attempts))


_MOST_RECORDS = 4096


def log_folder(samples: Sequence[Sample]) -> str:
    told = (each.training.log_folder for each in reversed(samples) if each.training)
    return next((folder for folder in told if folder), "")


def timeline(run_dir: Path, evidence: Evidence, samples: Sequence[Sample]) -> Timeline:
    found = steps.read_spaced(_steps_file(run_dir, evidence.attempt), _MOST_RECORDS)
    # The clock of the machine may have been set back meanwhile.
    records = sorted(found, key=lambda each: each.time_seconds)
    return timeline_of(evidence.entries, records, samples)


def last_step(run_dir: Path, attempt: int) -> int:
    records = steps.read_spaced(_steps_file(run_dir, attempt), 2)
    return records[-1].step if records else 0


def _steps_file(run_dir: Path, attempt: int) -> Path:
    return run_dir / ATTEMPTS_DIR / str(attempt) / steps.FILE_NAME


Fact = tuple[str, str]  # a name and a value

_LONGEST = 300
_OUTPUT_LINES = 40
_LINE_CHARACTERS = 400


def facts(evidence: Evidence) -> Iterator[Fact]:
    started = evidence.first(events.AttemptStarted)
    connected, level = evidence.last(events.TrainerConnected), evidence.last(events.LevelKnown)
    if started is not None:
        yield "command", phrases.shorten(shlex.join(started.command), _LONGEST)
        yield "host", started.host
    if connected is not None:
        versions = {"python": connected.python.partition(" ")[0], **connected.versions}
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())
    if level is not None:
        reason = f" ({level.reason})" if level.reason else ""
        yield "a resume is", f"{level.level.replace('_', ' ')}{reason}"


class WhyReport(Frozen):
    name: str
    last: Diagnosis  # the newest attempt, or the one that was asked for
    earlier: tuple[Diagnosis, ...] = ()  # those before it, the oldest first
    damaged_lines: int = 0
    attempts: tuple[AttemptProgress, ...] = ()  # oldest first; empty for a log file
    timeline: Timeline | None = None  # of the last one, None where nothing was recorded
    facts: tuple[Fact, ...] = ()
    output: tuple[str, ...] = ()
    log_folder: str = ""

    def to_json(self) -> dict[str, events.JsonValue]:
        """One object about the last attempt; the earlier ones under `attempts`."""
        return {
            "run": self.name,
            **self.last.to_json(),
            "attempts": [attempt.to_json() for attempt in self.earlier],
            "progress": [asdict(each) for each in self.attempts],
            "compared": list(compare(self.attempts)),
            "damaged_lines": self.damaged_lines,
        }


def why(run_dir: Path, *, live: bool, attempt: int | None = None) -> WhyReport:
    """The report on one attempt of a run, None for the newest; raises `RunNotFound`."""
    attempts, damaged_lines = load.from_run(run_dir, is_live=live)
    return _report(run_dir, _explained(run_dir, _up_to(attempts, attempt)), damaged_lines)


def why_each(run_dir: Path, wanted: Container[int]) -> tuple[WhyReport, ...]:
    """The reports on some attempts of a run that is over; raises `RunNotFound`."""
    attempts, damaged_lines = load.from_run(run_dir, is_live=False)
    explained = _explained(run_dir, attempts)
    return tuple(
        _report(run_dir, explained[: place + 1], damaged_lines)
        for place, each in enumerate(explained)
        if each.evidence.attempt in wanted
    )


class _Explained(Frozen):
    evidence: Evidence
    diagnosis: Diagnosis
    progress: AttemptProgress


def _explained(run_dir: Path, attempts: Iterable[Evidence]) -> tuple[_Explained, ...]:
    found = []
    for evidence in attempts:
        diagnosis, reached = diagnose(evidence), last_step(run_dir, evidence.attempt)
        found.append(_Explained(evidence, diagnosis, progress(evidence, diagnosis, reached)))
    return tuple(found)


def _report(run_dir: Path, attempts: Sequence[_Explained], damaged_lines: int) -> WhyReport:
    newest = attempts[-1].evidence
    folder = run_dir / ATTEMPTS_DIR / str(newest.attempt)
    samples = files.read_spaced(folder, load.MOST_SAMPLES)
    return WhyReport(
        name=str(run_dir),
        last=attempts[-1].diagnosis,
        earlier=tuple(each.diagnosis for each in attempts[:-1]),
        damaged_lines=damaged_lines,
        attempts=tuple(each.progress for each in attempts),
        timeline=timeline(run_dir, newest, samples),
        facts=tuple(facts(newest)),
        output=_last_lines(newest.output),
        log_folder=log_folder(samples),
    )


def why_log(path: Path, *, exit_code: int | None = None, signal: str = "") -> WhyReport:
    """The report on a bare log file; raises `RunNotFound` where it cannot be read."""
    evidence = load.from_log(path, exit_code=exit_code, signal=signal)
    return WhyReport(str(path), diagnose(evidence), output=_last_lines(evidence.output))


def _last_lines(text: str) -> tuple[str, ...]:
    lines = [line.rstrip()[:_LINE_CHARACTERS] for line in text.splitlines() if line.strip()]
    return tuple(lines[-_OUTPUT_LINES:])


def _up_to(attempts: tuple[Evidence, ...], attempt: int | None) -> tuple[Evidence, ...]:
    if attempt is None:
        return attempts
    kept = tuple(each for each in attempts if each.attempt <= attempt)
    if not kept or kept[-1].attempt != attempt:
        numbers = ", ".join(str(each.attempt) for each in attempts)
        raise RunNotFound(f"The run has no attempt {attempt}.", f"Choose one of {numbers}.")
    return kept
