"""Evidence of real runs, as the fault bench recorded it: journal, end of the output, samples."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from pitstop import journal
from pitstop.diagnosis import Evidence
from pitstop.diagnosis.evidence import of_samples
from pitstop.diagnosis.log import lines
from pitstop.events import from_record
from pitstop.flight.files import decode
from pitstop.journal import Entry

FOLDER = Path(__file__).parent / "recorded"


@dataclass(frozen=True)
class Recording:
    """One run to which something was done.

    Attributes:
        name: of the scenario in the bench.
        accepts: the causes that are right.
        evidence: of its attempt.
    """

    name: str
    accepts: frozenset[str]
    evidence: Evidence


def read(path: Path) -> Recording:
    """A recording from its file."""
    stored = json.loads(path.read_text(encoding="utf-8"))
    entries = tuple(
        Entry(each["time"], each["attempt"], from_record(each["event"]))
        for each in stored["entries"]
    )
    samples = (decode(journal.seal(json.dumps(each))) for each in stored.get("flight", ()))
    evidence = Evidence(
        entries[-1].attempt,
        entries,
        lines.clean(stored["output"]),
        flight=of_samples([sample for sample in samples if sample is not None]),
    )
    return Recording(path.stem, frozenset(stored["accepts"]), evidence)


RECORDINGS = tuple(read(path) for path in sorted(FOLDER.glob("*.json")))
