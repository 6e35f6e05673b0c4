"""The forms of a report, as options of a command."""

from pathlib import Path

import click
from rich.console import Console

from pitstop.cli.echo import tell, tell_json
from pitstop.cli.grouped_command import option_group
from pitstop.errors import EnvironmentFault
from pitstop.record import Frozen
from pitstop.report import markdown, page, terminal
from pitstop.report.gang import GangReport
from pitstop.report.why import WhyReport


class OutputFormats(Frozen):
    """The forms that were asked for: on the standard output, and in files."""

    as_json: bool
    html_file: Path | None
    markdown_file: Path | None


report_forms = option_group(
    "forms",
    OutputFormats,
    click.option("--json", "as_json", is_flag=True, help="Print one JSON object."),
    click.option(
        "--html",
        "html_file",
        type=click.Path(path_type=Path),
        help="Write an HTML page with plots to this file.",
    ),
    click.option(
        "--md",
        "markdown_file",
        type=click.Path(path_type=Path),
        help="Write Markdown to this file.",
    ),
)


def deliver(found: WhyReport | GangReport, left_page: Path | None, forms: OutputFormats) -> None:
    """Gives the report in the chosen forms; `left_page`: the page that the run has left.

    For a launch: the whole report on the member that failed first, one line for each other member.
    """
    report = found.first.report if isinstance(found, GangReport) else found
    if forms.html_file is not None:
        _write(forms.html_file, page.render(report))
    if forms.markdown_file is not None:
        _write(forms.markdown_file, markdown.render(report))
    if forms.as_json:
        tell_json(found.to_json())
    elif forms.html_file is None and forms.markdown_file is None:
        terminal.show(report, Console(), left_page)
        if isinstance(found, GangReport):
            tell("\n".join(["", "The other members", *(f"  {line}" for line in found.lines())]))


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise EnvironmentFault(
            f"{path} cannot be written: {error.strerror}.", "Give a file in an existing folder."
        ) from error
