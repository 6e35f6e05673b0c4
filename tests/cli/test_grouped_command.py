"""Options that become one value."""

from __future__ import annotations

from dataclasses import dataclass

import click
import pytest
from click.testing import CliRunner

from pitstop.cli.grouped_command import option_group


@dataclass(frozen=True)
class _Size:
    width: int
    height: int


_sized = option_group(
    "size",
    _Size,
    click.option("--width", type=int, default=1, help="How wide."),
    click.option("--height", type=int, default=2, help="How high."),
)


@click.command()
@click.option("--name", default="box")
@_sized
@click.argument("word")
@click.pass_context
def _command(context: click.Context, word: str, *, name: str, size: _Size) -> None:
    """Draws a box."""
    assert context.params["word"] == word
    click.echo(f"{word} {name} {size}")


@pytest.mark.parametrize(
    ("words", "size"),
    [(["w"], _Size(1, 2)), (["--height", "5", "w", "--width", "7"], _Size(7, 5))],
)
def test_the_command_gets_one_value(words: list[str], size: _Size) -> None:
    assert CliRunner().invoke(_command, words).output == f"w box {size}\n"


def test_the_help_lists_the_options_in_their_place() -> None:
    shown = CliRunner().invoke(_command, ["--help"]).output
    places = [shown.index(text) for text in ("Draws a box", "--name", "How wide.", "How high.")]
    assert places == sorted(places)
