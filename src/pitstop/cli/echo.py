"""What a command gives.  No text of others is obeyed."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import click

from pitstop.plain_text import plain, plain_tree, strict

if TYPE_CHECKING:
    from pitstop.events import JsonValue


def tell(text: str) -> None:
    click.echo(plain(text))


def tell_json(value: JsonValue, indent: int | None = 2) -> None:
    click.echo(json.dumps(strict(plain_tree(value)), indent=indent, allow_nan=False))
