"""The output of a command; escape sequences in texts of others have no effect."""

import json

import click

from pitstop.events import JsonValue
from pitstop.plain_text import plain, plain_tree, strict


def tell(text: str) -> None:
    click.echo(plain(text))


def tell_json(value: JsonValue, indent: int | None = 2) -> None:
    click.echo(json.dumps(strict(plain_tree(value)), indent=indent, allow_nan=False))
