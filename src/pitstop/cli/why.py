"""`pitstop why`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from pitstop import report
from pitstop.cli.live_run import find_run, status_of
from pitstop.cli.output_formats import OutputFormats, deliver, report_forms
from pitstop.cli.places import PLACE, fetched
from pitstop.remote.place import RemotePlace
from pitstop.report import files
from pitstop.report.why import WhyReport
from pitstop.store.lock import is_locked
from pitstop.supervisor.status.status import SUSPENDED


@click.command()
@click.argument("run", type=PLACE, required=False)
@click.option("--attempt", type=click.IntRange(min=1), help="An earlier one.  [default: the last]")
@report_forms
@click.pass_context
def why(
    context: click.Context,
    run: Path | RemotePlace | None,
    *,
    attempt: int | None,
    forms: OutputFormats,
) -> None:
    """Tell why RUN stopped: the cause, what to do, and the evidence.

    RUN is a folder, or the URL of a mirror.
    """
    found, left_page = _report(context, run, attempt)
    deliver(found, forms, left_page)


def _report(
    context: click.Context, run: Path | RemotePlace | None, attempt: int | None
) -> tuple[WhyReport, Path | None]:
    """The report, and the page that the run has left of it."""
    if isinstance(run, RemotePlace):
        found = report.why(fetched(context, run), live=False, attempt=attempt)
        return replace(found, name=run.url), None
    folder = find_run(run)
    found = report.why(folder.path, live=is_locked(folder.lock), attempt=attempt)
    if found.last.state == "running" and status_of(folder).state == SUSPENDED:
        found = replace(found, last=replace(found.last, state=SUSPENDED))
    left = folder.attempt_dir(found.last.attempt) / files.PAGE
    return found, left if left.exists() else None
