"""The forms of a report, as options of a command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from rich.console import Console

from pitstop.errors import EnvironmentFault
from pitstop.report import json_report, markdown, page, terminal
from pitstop.report.why import WhyReport

_Command = TypeVar("_Command", bound=Callable[..., Any])


def report_forms(command: _Command) -> _Command:
    """Adds the options; the values are for `deliver`."""
    for option in reversed(
        (
            click.option("--json", "as_json", is_flag=True, help="One JSON object."),
            click.option(
                "--html",
                "html_file",
                type=click.Path(path_type=Path),
                help="Write a page, with plots of what was recorded, to a file.",
            ),
            click.option(
                "--md",
                "markdown_file",
                type=click.Path(path_type=Path),
                help="Write Markdown to a file.",
            ),
        )
    ):
        command = option(command)
    return command


def deliver(
    found: WhyReport,
    *,
    as_json: bool,
    html_file: Path | None,
    markdown_file: Path | None,
    left_page: Path | None = None,
) -> None:
    """Gives the report in the forms that were asked for, in the terminal when in none.

    Args:
        found: the report.
        as_json: on the standard output.
        html_file, markdown_file: where to write these forms.
        left_page: the page that the run itself has left, to be told of in the terminal.

    Raises:
        EnvironmentFault: a file cannot be written.
    """
    if html_file is not None:
        _write(html_file, page.render(found))
    if markdown_file is not None:
        _write(markdown_file, markdown.render(found))
    if as_json:
        click.echo(json_report.render(found))
    elif html_file is None and markdown_file is None:
        terminal.show(found, Console(), left_page)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFault(
            f"{path} cannot be written: {error.strerror}.", "Name a file in a folder that exists."
        ) from error
