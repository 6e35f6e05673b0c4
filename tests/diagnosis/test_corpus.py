"""Every log of the corpus leads to what really ended its program."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import pytest

from pitstop.cli.diagnose import ending_of
from pitstop.diagnosis import CAUSES, Finding, diagnose, load
from tests.source_tree import ROOT

_CORPUS = ROOT / "tests" / "diagnosis" / "corpus"
_FEWEST_LOGS = 120
_MOST_BYTES = 64 * 1024


@dataclass(frozen=True)
class Labelled:
    """A log, and what it must lead to.

    Attributes:
        name: of the log.
        cause: from the log alone.
        cause_with_status: from the log and the exit status.
        ended: an exit code, or the name of a signal.
    """

    name: str
    cause: str
    cause_with_status: str
    ended: str

    @property
    def path(self) -> Path:
        return _CORPUS / f"{self.name}.log"


def _labels() -> list[Labelled]:
    rows = (_CORPUS / "labels.tsv").read_text(encoding="utf-8").splitlines()[1:]
    return [Labelled(*row.split("\t")[:4]) for row in rows]


_LABELS = _labels()


def _named(labelled: Labelled) -> str:
    return labelled.name


def _finding(path: Path, ended: str = "") -> Finding:
    is_code = ended.isdigit()
    code, signal = ending_of(int(ended) if is_code else None, "" if is_code else ended)
    finding = diagnose(load.from_log(path, exit_code=code, signal=signal)).finding
    assert finding is not None
    return finding


@pytest.mark.parametrize("labelled", _LABELS, ids=_named)
def test_the_log_alone_tells_the_cause(labelled: Labelled) -> None:
    finding = _finding(labelled.path)
    assert finding.cause == labelled.cause
    assert all(item.text.strip() for item in finding.evidence)
    assert len(finding.summary) < 400


@pytest.mark.parametrize("labelled", _LABELS, ids=_named)
def test_with_the_exit_status_it_is_the_same_or_more(labelled: Labelled) -> None:
    assert _finding(labelled.path, labelled.ended).cause == labelled.cause_with_status


def test_accuracy_by_cause() -> None:
    asked = Counter(labelled.cause for labelled in _LABELS)
    right = Counter(
        labelled.cause for labelled in _LABELS if _finding(labelled.path).cause == labelled.cause
    )
    table = {cause: f"{right[cause]} of {asked[cause]}" for cause in CAUSES if asked[cause]}
    sys.stdout.write(f"{json.dumps(table, indent=1)}\n")  # shown with -s, or when it fails
    assert right == asked


def test_the_corpus_is_large_and_small_enough() -> None:
    assert len(_LABELS) >= _FEWEST_LOGS
    assert {labelled.path for labelled in _LABELS} == set(_CORPUS.glob("*.log"))
    assert max(labelled.path.stat().st_size for labelled in _LABELS) < _MOST_BYTES


@pytest.mark.parametrize("labelled", _LABELS[::8], ids=_named)
@pytest.mark.parametrize("decorate", ["stamped", "ranked", "boxed", "utf16", "coloured"])
def test_what_stands_before_the_lines_changes_nothing(
    labelled: Labelled, decorate: str, tmp_path: Path
) -> None:
    text = labelled.path.read_text(encoding="utf-8")
    path = tmp_path / "train.log"
    path.write_bytes(_DECORATIONS[decorate](text))
    assert _finding(path).cause == labelled.cause


def _stamped(text: str) -> bytes:
    lines = [f"2026-01-02T03:04:{i % 60:02}.{i:06}Z {line}" for i, line in enumerate(_lines(text))]
    return "\n".join(lines).encode()


def _ranked(text: str) -> bytes:
    return "\n".join(f"[rank3]: {line}" for line in _lines(text)).encode()


def _boxed(text: str) -> bytes:
    return "\n".join(json.dumps({"log": f"{line}\n"}) for line in _lines(text)).encode()


def _utf16(text: str) -> bytes:
    return text.encode("utf-16")


def _coloured(text: str) -> bytes:
    return "\r\n".join(f"\x1b[32m{line}\x1b[0m" for line in _lines(text)).encode()


def _lines(text: str) -> list[str]:
    return text.rstrip("\n").split("\n")


_DECORATIONS = {
    "stamped": _stamped,
    "ranked": _ranked,
    "boxed": _boxed,
    "utf16": _utf16,
    "coloured": _coloured,
}
