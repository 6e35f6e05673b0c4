"""The output of a command; escape sequences in texts of others have no effect."""

import click

from pitstop.events import JsonValue
from pitstop.plain_text import json_text, plain


def tell(text: str) -> None:
    click.echo(plain(text))


def tell_json(value: JsonValue, indent: int | None = 2) -> None:
    click.echo(json_text(value, indent))
