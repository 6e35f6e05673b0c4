"""Evidence from disk: a run's folder, or nothing but a log file."""

import itertools
import os
from pathlib import Path

from pitstop import journal
from pitstop.diagnosis.engine import diagnose
from pitstop.diagnosis.evidence import Evidence, of_samples
from pitstop.diagnosis.log import lines
from pitstop.diagnosis.log.log import read_log
from pitstop.errors import RunNotFound
from pitstop.events import TrainerExited
from pitstop.flight import files
from pitstop.journal import Entry
from pitstop.store.run_folder import ATTEMPTS_DIR, FOUND_FILE, JOURNAL_FILE, OUTPUT_FILE

TAIL_BYTES = 64 * 1024

MOST_SAMPLES = 600
"""Of the flight recorder's, that a diagnosis looks at: the last five minutes, and before them."""


def from_run(run_dir: Path, *, is_live: bool) -> tuple[tuple[Evidence, ...], int]:
    """The evidence of all attempts of a run, in order, and how many lines of its journal are bad.

    Raises `RunNotFound` where it has no journal, or an empty one.
    """
    path = run_dir / JOURNAL_FILE
    if not path.is_file():
        raise RunNotFound(
            f"{run_dir} does not contain a run.", "Give the folder of a run (see `pitstop ls`)."
        )
    text = journal.read(path)
    if not text.entries:
        raise RunNotFound(f"The journal of {run_dir} is empty.", "Start the run first.")
    # The persister of one attempt may still write when the next one has begun.
    entries = sorted(text.entries, key=lambda entry: entry.attempt)
    newest = entries[-1].attempt
    attempts = tuple(
        _evidence_of(run_dir, attempt, tuple(own), is_live=is_live and attempt == newest)
        for attempt, own in itertools.groupby(entries, key=lambda entry: entry.attempt)
    )
    return attempts, text.damaged_lines


def _evidence_of(run_dir: Path, attempt: int, own: tuple[Entry, ...], *, is_live: bool) -> Evidence:
    folder = run_dir / ATTEMPTS_DIR / str(attempt)
    # What was found out afterwards stands first: the last entry is the attempt's own.
    found = journal.read(folder / FOUND_FILE).entries
    output_tail = read_tail(folder / OUTPUT_FILE)
    flight = of_samples(files.read_spaced(folder, MOST_SAMPLES))
    return Evidence(attempt, (*found, *own), output_tail, is_live, flight)


def cause_of(run_dir: Path) -> str:
    """The cause that ended the last attempt of a run; "unknown" where no journal could be kept."""
    try:
        attempts, _ = from_run(run_dir, is_live=False)
    except RunNotFound:
        return "unknown"
    finding = diagnose(attempts[-1]).finding
    return finding.cause if finding else "unknown"


def from_log(path: Path, *, exit_code: int | None = None, signal: str = "") -> Evidence:
    """Evidence from a log file and its process' end; raises `RunNotFound` if unreadable."""
    if not path.is_file():
        raise RunNotFound(f"{path} is not a file.", "Give the log file of a training script.")
    try:
        log = read_log(path)
    except OSError as error:
        raise RunNotFound(f"{path} cannot be read: {error}.", "Check its permissions.") from error
    tail = log.text[-TAIL_BYTES:]
    if exit_code is None and not signal:
        return Evidence(0, (), tail, log_file=log)
    ended = TrainerExited(exit_code, signal, 0, 0, 0, "", None)
    return Evidence(0, (Entry(path.stat().st_mtime, 0, ended),), tail, log_file=log)


def read_tail(path: Path) -> str:
    try:
        with path.open("rb") as file:
            size_bytes = file.seek(0, os.SEEK_END)
            file.seek(max(0, size_bytes - TAIL_BYTES))
            data = file.read()
    except FileNotFoundError:
        return ""
    if size_bytes > TAIL_BYTES:
        data = data.partition(b"\n")[2]  # the first line is a part of one
    return lines.clean(data.decode(errors="replace"))
