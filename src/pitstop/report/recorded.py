"""What the records of an attempt hold for its plots: steps, and samples of the machine.

A record is read at a bounded number of places, so that the report on a month of
training takes as long as that on a minute.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pitstop import steps
from pitstop.diagnosis import Evidence
from pitstop.flight.sample import Sample
from pitstop.report.resource_panels import resource_panels
from pitstop.report.timeline import Timeline, marks
from pitstop.report.training_panels import training_panels
from pitstop.store.run_folder import ATTEMPTS_DIR

_MOST_RECORDS = 4096


def log_folder(samples: Sequence[Sample]) -> str:
    """Where the script's TensorBoard callback writes; empty when it has none."""
    told = (each.training.log_folder for each in reversed(samples) if each.training)
    return next((folder for folder in told if folder), "")


def timeline(run_dir: Path, evidence: Evidence, samples: Sequence[Sample]) -> Timeline:
    found = steps.read_spaced(_steps_file(run_dir, evidence.attempt), _MOST_RECORDS)
    # The clock of the machine may have been set back meanwhile.
    records = sorted(found, key=lambda each: each.time_seconds)
    started = evidence.entries[0].time_seconds
    known = [evidence.entries[-1].time_seconds]
    known += [each.time_seconds for each in records[-1:]]
    known += [each.time_seconds for each in samples[-1:]]
    ended = max(known)
    panels = (
        *training_panels(records, evidence.entries, ended),
        *resource_panels(samples),
    )
    return Timeline(started, ended, panels, marks(evidence.entries))


def last_step(run_dir: Path, attempt: int) -> int:
    """The last step in an attempt's record, 0 when there is none."""
    records = steps.read_spaced(_steps_file(run_dir, attempt), 2)
    return records[-1].step if records else 0


def _steps_file(run_dir: Path, attempt: int) -> Path:
    return run_dir / ATTEMPTS_DIR / str(attempt) / steps.FILE_NAME
