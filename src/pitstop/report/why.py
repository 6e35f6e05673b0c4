"""The report on a run, before it takes a form."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pitstop.diagnosis import Diagnosis, diagnose, load


@dataclass(frozen=True)
class WhyReport:
    """Why each attempt of a run ended.

    Attributes:
        name: the run's folder or the log file, as the user named it.
        last: the newest attempt.
        earlier: those before it, the oldest first.
        damaged_lines: journal lines that could not be read.
    """

    name: str
    last: Diagnosis
    earlier: tuple[Diagnosis, ...] = ()
    damaged_lines: int = 0


def why(run_dir: Path, *, live: bool) -> WhyReport:
    """The report on a run; `live`: its supervisor is still there.

    Raises:
        RunNotFound: the folder holds no run, or one that never began.
    """
    evidence = load.from_run(run_dir, is_live=live)
    *earlier, last = (diagnose(attempt) for attempt in evidence.attempts)
    return WhyReport(str(run_dir), last, tuple(earlier), evidence.damaged_lines)


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
