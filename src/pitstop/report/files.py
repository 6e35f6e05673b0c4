"""The reports that lie beside the records of each attempt."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from pitstop import journal
from pitstop.events import AttemptEnded
from pitstop.plain_text import json_text
from pitstop.report import markdown, page
from pitstop.report.why import WhyReport, why_each
from pitstop.store.run_folder import ATTEMPTS_DIR, JOURNAL_FILE

PAGE = "report.html"

FORMS: Mapping[str, Callable[[WhyReport], str]] = {
    "report.json": lambda report: json_text(report.to_json()) + "\n",
    "report.md": markdown.render,
    PAGE: page.render,
}
"""By the name of the file, in the order in which they are written."""


def write_missing(run_dir: Path) -> tuple[WhyReport, ...]:
    """Writes the missing reports of ended attempts; raises `RunNotFound` or `OSError`."""
    entries = journal.read(run_dir / JOURNAL_FILE).entries
    newest = max((each.attempt for each in entries), default=0)
    over = {each.attempt for each in entries if isinstance(each.event, AttemptEnded)}
    over |= {each.attempt for each in entries if each.attempt < newest}
    lacking = {
        attempt: folder
        for attempt in sorted(over)
        if (folder := run_dir / ATTEMPTS_DIR / str(attempt)).is_dir()
        and not all((folder / name).exists() for name in FORMS)
    }
    reports = why_each(run_dir, lacking) if lacking else ()
    for report in reports:
        _write(report, lacking[report.last.attempt])
    return tuple(reports)


def _write(report: WhyReport, folder: Path) -> None:
    for name, render in FORMS.items():
        # Whole or not at all, and no longer: it can be made again, so it is not synced.
        partial = folder / f".{name}.{os.getpid()}"
        partial.write_text(render(report), encoding="utf-8")
        partial.replace(folder / name)
