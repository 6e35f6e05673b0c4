"""The reports that lie beside the records of each attempt."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from pitstop import journal
from pitstop.events import AttemptEnded
from pitstop.report import json_report, markdown, page
from pitstop.report.why import WhyReport, why_each
from pitstop.store.run_folder import ATTEMPTS_DIR, JOURNAL_FILE

PAGE = "report.html"

FORMS: Mapping[str, Callable[[WhyReport], str]] = MappingProxyType(
    {"report.json": json_report.render, "report.md": markdown.render, PAGE: page.render}
)
"""By the name of the file, in the order in which they are written."""


@dataclass(frozen=True)
class Written:
    """The report on an attempt, and the file for people."""

    report: WhyReport
    page: Path


def write_missing(run_dir: Path) -> tuple[Written, ...]:
    """Writes the reports of all attempts that are over and have none.

    An attempt is over when it says so, or when another one has followed.

    Raises:
        RunNotFound: the folder holds no run.
        OSError: the disk refused; what was written before it is whole.
    """
    lacking = {
        attempt: folder
        for attempt in _attempts_that_are_over(run_dir)
        if (folder := run_dir / ATTEMPTS_DIR / str(attempt)).is_dir()
        and not all((folder / name).exists() for name in FORMS)
    }
    reports = why_each(run_dir, lacking) if lacking else ()
    return tuple(_write(report, lacking[report.last.attempt]) for report in reports)


def _attempts_that_are_over(run_dir: Path) -> list[int]:
    entries = journal.read(run_dir / JOURNAL_FILE).entries
    newest = max((each.attempt for each in entries), default=0)
    ended = {each.attempt for each in entries if isinstance(each.event, AttemptEnded)}
    return sorted(ended | {each.attempt for each in entries if each.attempt < newest})


def _write(report: WhyReport, folder: Path) -> Written:
    for name, render in FORMS.items():
        _replace(folder / name, render(report))
    return Written(report, folder / PAGE)


def _replace(path: Path, text: str) -> None:
    # Whole or not at all, and no longer: it can be made again, so it is not synced.
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
