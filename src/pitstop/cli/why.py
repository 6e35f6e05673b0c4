"""`pitstop why`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from pitstop import report
from pitstop.cli.live_run import find_run
from pitstop.cli.places import PLACE, fetched
from pitstop.errors import EnvironmentFault
from pitstop.remote.place import RemotePlace
from pitstop.report import files, json_report, markdown, page, terminal
from pitstop.report.why import WhyReport
from pitstop.store.lock import is_locked


@click.command()
@click.argument("run", type=PLACE, required=False)
@click.option("--attempt", type=click.IntRange(min=1), help="An earlier one.  [default: the last]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--html",
    "html_file",
    type=click.Path(path_type=Path),
    help="Write a page with plots to a file.",
)
@click.option(
    "--md", "markdown_file", type=click.Path(path_type=Path), help="Write Markdown to a file."
)
@click.pass_context
def why(
    context: click.Context,
    run: Path | RemotePlace | None,
    *,
    attempt: int | None,
    as_json: bool,
    html_file: Path | None,
    markdown_file: Path | None,
) -> None:
    """Tell why RUN stopped: the cause, what to do, and the evidence.

    RUN is a folder, or the URL of a mirror.
    """
    found, left_page = _report(context, run, attempt)
    if html_file is not None:
        _write(html_file, found, page.render)
    if markdown_file is not None:
        _write(markdown_file, found, markdown.render)
    if as_json:
        click.echo(json_report.render(found))
    elif html_file is None and markdown_file is None:
        terminal.show(found, Console(), left_page)


def _report(
    context: click.Context, run: Path | RemotePlace | None, attempt: int | None
) -> tuple[WhyReport, Path | None]:
    """The report, and the page that the run has left of it."""
    if isinstance(run, RemotePlace):
        found = report.why(fetched(context, run), live=False, attempt=attempt)
        return replace(found, name=run.url), None
    folder = find_run(run)
    found = report.why(folder.path, live=is_locked(folder.lock), attempt=attempt)
    left = folder.attempt_dir(found.last.attempt) / files.PAGE
    return found, left if left.exists() else None


def _write(path: Path, found: WhyReport, render: Callable[[WhyReport], str]) -> None:
    try:
        path.write_text(render(found), encoding="utf-8")
    except OSError as error:
        raise EnvironmentFault(
            f"{path} cannot be written: {error.strerror}.", "Name a file in a folder that exists."
        ) from error
