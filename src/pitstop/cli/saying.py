"""Our own words beside what a command gives."""

from __future__ import annotations

import click

from pitstop.supervisor.screen import PREFIX


def say(line: str) -> None:
    """Tells the user a line, on the standard error."""
    click.echo(f"{PREFIX}{line}", err=True)
