"""The reports that `pitstop run` leaves beside the records of each attempt."""

import contextlib
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.diagnosis import load
from pitstop.errors import RunNotFound
from pitstop.flight import tensorboard_writer
from pitstop.report import files, markdown


def leave_reports(run_dir: Path, say: Callable[[str], None]) -> None:
    with contextlib.suppress(RunNotFound):
        try:
            _write(run_dir)
        except OSError as error:
            say(f"the report could not be written: {error.strerror}.")


def cause_and_report(run_dir: Path) -> str:
    """Why the last attempt of a run ended; what the disk refuses here is told at the end."""
    with contextlib.suppress(RunNotFound, OSError):
        _write(run_dir)
    return load.cause_of(run_dir)


def _write(run_dir: Path) -> None:
    for report in files.write_missing(run_dir):
        if report.log_folder:
            step = report.attempts[-1].last_step
            text = markdown.render(report)
            tensorboard_writer.write_report(Path(report.log_folder), step, time.time(), text)
