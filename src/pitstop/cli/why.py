"""`pitstop why`."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click
from rich.console import Console

from pitstop import report
from pitstop.cli.live_run import find_run
from pitstop.cli.places import PLACE, fetched
from pitstop.remote.place import RemotePlace
from pitstop.report import json_report, markdown, terminal
from pitstop.store.lock import is_locked


@click.command()
@click.argument("run", type=PLACE, required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option(
    "--md", "markdown_file", type=click.Path(path_type=Path), help="Write Markdown to a file."
)
@click.pass_context
def why(
    context: click.Context,
    run: Path | RemotePlace | None,
    *,
    as_json: bool,
    markdown_file: Path | None,
) -> None:
    """Tell why RUN stopped: the cause, the evidence, and what to do.

    RUN is a folder, or the URL of a mirror.
    """
    found = _report(context, run)
    if markdown_file is not None:
        markdown_file.write_text(markdown.render(found), encoding="utf-8")
    if as_json:
        click.echo(json_report.render(found))
    elif markdown_file is None:
        terminal.show(found, Console())


def _report(context: click.Context, run: Path | RemotePlace | None) -> report.WhyReport:
    if isinstance(run, RemotePlace):
        return replace(report.why(fetched(context, run), live=False), name=run.url)
    folder = find_run(run)
    return report.why(folder.path, live=is_locked(folder.lock))
