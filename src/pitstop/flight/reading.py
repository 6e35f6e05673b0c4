"""Reads what a flight recorder has left of an attempt."""

from __future__ import annotations

import re
from pathlib import Path

from pitstop.flight import files
from pitstop.flight.encoding import decode
from pitstop.flight.sample import Sample

_NUMBER = re.compile(rb'\{"number":(\d+),.*\n')


def read(attempt_dir: Path) -> tuple[Sample, ...]:
    """The samples of an attempt, oldest first, each once; none where none were recorded.

    The last minutes are there in full, what was before is thinned.  Lines that a crash
    or a full disk has cut short are left out.
    """
    found = {sample.number: sample for sample in files.samples(attempt_dir)}
    return tuple(found[number] for number in sorted(found))


def read_spaced(attempt_dir: Path, most: int) -> tuple[Sample, ...]:
    """About so many of the samples, oldest first: half of them the last ones, the others spread.

    Costs the same for an attempt of any length, and a line that is left out is not even decoded.
    """
    lines = {int(at[1]): line for line in files.lines(attempt_dir) if (at := _NUMBER.match(line))}
    numbers = sorted(lines)
    half = most // 2
    before, recent = numbers[:-half], numbers[-half:]
    every = max(1, -(-len(before) // half))
    chosen = (decode(lines[number]) for number in (*before[::every], *recent))
    return tuple(sample for sample in chosen if sample is not None)
