"""The reports that `pitstop run` leaves beside the records of each attempt."""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from pitstop.diagnosis import load
from pitstop.errors import RunNotFound
from pitstop.flight import tensorboard_writer
from pitstop.report import files, markdown

_ASKING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)


def leave_reports(run_dir: Path, say: Callable[[str], None]) -> None:
    """Writes the reports that are missing; says so when the disk refuses.

    Everything is saved and nothing is left to stop: a signal that asks for it once more must not
    change the exit code of the run.
    """
    with _deaf(), contextlib.suppress(RunNotFound):
        try:
            _write(run_dir)
        except OSError as error:
            say(f"the report could not be written: {error.strerror}.")


def cause_and_report(run_dir: Path) -> str:
    """Why the last attempt of a run ended; the report on it is left beside its records.

    What the disk refuses here is told when the run ends.
    """
    with contextlib.suppress(RunNotFound, OSError):
        _write(run_dir)
    return load.cause_of(run_dir)


def _write(run_dir: Path) -> None:
    for written in files.write_missing(run_dir):
        report = written.report
        if report.log_folder:
            step = report.attempts[-1].last_step
            text = markdown.render(report)
            tensorboard_writer.write_report(Path(report.log_folder), step, time.time(), text)


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    before = {each: signal.signal(each, signal.SIG_IGN) for each in _ASKING}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)
