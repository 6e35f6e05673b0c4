"""Lines near the end of a log that sound like an error, where nothing else is told."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pitstop.diagnosis.exception import from_title
from pitstop.diagnosis.log.clues import Clue, classified
from pitstop.diagnosis.log.lines import Line
from pitstop.diagnosis.log.log import Log
from pitstop.diagnosis.log.signs.sign import Weight
from pitstop.diagnosis.rules.signatures import classify

_SOUNDS_LIKE_AN_ERROR = re.compile(
    r"error|exception|fatal|fail(?:ed|ure)\b|^E |: E |\[E |^E\d{4} |\b[A-Z]+_[A-Z]+: ",
    re.IGNORECASE,
)
_IS_NONE = re.compile(
    r"warning|^W |: W |^W\d{4} |not a failure|End of sequence|Unable to register|cuInit"
    r"|dynamic library|\bretry|ignor|TF-TRT|NUMA|no error|0 errors|interpreter state",
    re.IGNORECASE,
)
_STATUS = re.compile(r"\b(?P<code>[A-Z]+(?:_[A-Z]+)*): ")
_MOST_LINES = 60
_FACTOR = 0.45


def find(log: Log) -> Iterator[Clue]:
    """What the last such lines may mean, in order; far less sure than anything else."""
    inside = log.inside_tracebacks
    told = [line for line in log.lines if line.text.strip()][-_MOST_LINES:]
    for line in told:
        if line.number in inside or _IS_NONE.search(line.text):
            continue
        if _SOUNDS_LIKE_AN_ERROR.search(line.text):
            yield from _of(log, line)


def _of(log: Log, line: Line) -> Iterator[Clue]:
    status = _STATUS.search(line.text)
    name = status["code"].title().replace("_", "") if status else ""
    raised = from_title(f"{name}Error", line.text.strip())
    row = classify(raised)
    if row is None:
        return
    base = Clue(None, 0, Weight.HINT, line.number, line.group, line.text.strip(), "")
    clue = classified(log, base, raised, row)
    yield Clue(
        clue.cause,
        clue.confidence * _FACTOR,
        Weight.HINT,
        line.number,
        line.group,
        line.text.strip(),
        f"{row.headline}, as one of the last lines says.",
        clue.advice,
        survived=log.went_on_after(line.number, line.group),
    )
