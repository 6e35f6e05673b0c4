"""`pitstop explain`."""

import re
import sys

import click
from rich.console import Console
from rich.markdown import Markdown

from pitstop.cli.echo import tell
from pitstop.diagnosis import CAUSES
from pitstop.diagnosis.wording import section
from pitstop.errors import InternalFault

_LINK = re.compile(r"\[([^]]+)\]\(#[\w-]+\)")
_LINE_COLUMNS = 100


@click.command()
@click.argument("cause", type=click.Choice(CAUSES), metavar="CAUSE")
def explain(cause: str) -> None:
    """Explain what CAUSE means and what to do.

    CAUSE is as `pitstop why` reports it, such as host_oom_killed.  The text also says
    how Pitstop recognizes the cause.
    """
    found = section(cause)
    if found is None:
        raise InternalFault(f"The page of causes has no section on {cause}.")
    text = _LINK.sub(r"\1", found)
    if sys.stdout.isatty():
        console = Console()
        width = min(console.width, _LINE_COLUMNS)
        console.print(Markdown(text.replace("### ", "# ", 1)), width=width)
    else:
        tell(text)
