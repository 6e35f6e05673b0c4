"""What a command tells: our own words, and what it gives.  No text of others is obeyed."""

from __future__ import annotations

import json

import click

from pitstop.events import JsonValue
from pitstop.plain_text import plain, plain_line, plain_tree
from pitstop.report.json_report import strict
from pitstop.supervisor.screen import PREFIX


def say(line: str) -> None:
    """Tells the user a line, on the standard error."""
    click.echo(f"{PREFIX}{plain_line(line)}", err=True)


def tell(text: str) -> None:
    """Gives what was asked for, on the standard output."""
    click.echo(plain(text))


def tell_json(value: JsonValue, indent: int | None = 2) -> None:
    """Gives what was asked for as strict JSON."""
    click.echo(json.dumps(strict(plain_tree(value)), indent=indent, allow_nan=False))
