"""The reports of `pitstop run`.  Their code is slow to load, and is loaded beside the script."""

import contextlib
import importlib
import threading
import time
from collections.abc import Callable
from pathlib import Path

from pitstop.errors import RunNotFound

_AFTER_SECONDS = 2.0  # the script's own start comes first

_needed = threading.Event()


def prepare(socket_path: str) -> None:
    del socket_path
    threading.Thread(target=_load, name="pitstop-reports", daemon=True).start()


def _load() -> None:
    if not _needed.wait(_AFTER_SECONDS):
        importlib.import_module("pitstop.report.files")


def leave_reports(run_dir: Path, say: Callable[[str], None], *, is_told: bool = False) -> None:
    """Writes the missing reports; prints the cause of a failure unless it was printed before."""
    _needed.set()
    with contextlib.suppress(RunNotFound):
        try:
            for line in _write(run_dir):
                if not is_told:
                    say(line)
        except OSError as error:
            say(f"the report could not be written: {error.strerror}.")


def cause_and_report(run_dir: Path, say: Callable[[str], None]) -> str:
    """Why the last attempt of a run ended; an error of the disk is reported at the end."""
    from pitstop.diagnosis import load

    with contextlib.suppress(RunNotFound, OSError):
        for line in _write(run_dir):
            say(line)
    return load.cause_of(run_dir)


def _write(run_dir: Path) -> list[str]:
    """Writes the missing reports; returns cause and first advice if the last attempt failed."""
    from pitstop.flight import tensorboard_writer
    from pitstop.report import files, markdown

    lines: list[str] = []
    for report in files.write_missing(run_dir):
        if report.log_folder:
            step = report.attempts[-1].last_step
            text = markdown.render(report)
            tensorboard_writer.write_report(Path(report.log_folder), step, time.time(), text)
        found, is_bad = report.last.finding, report.last.tone in ("failed", "doubtful")
        lines = [f"{found.cause}: {found.summary}", *found.advice[:1]] if found and is_bad else []
    return lines
