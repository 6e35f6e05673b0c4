"""Reads what a flight recorder has left of an attempt."""

from __future__ import annotations

from pathlib import Path

from pitstop.flight import files
from pitstop.flight.sample import Sample


def read(attempt_dir: Path) -> tuple[Sample, ...]:
    """The samples of an attempt, oldest first, each once; none where none were recorded.

    The last minutes are there in full, what was before is thinned.  Lines that a crash
    or a full disk has cut short are left out.
    """
    found = {sample.number: sample for sample in files.samples(attempt_dir)}
    return tuple(found[number] for number in sorted(found))
