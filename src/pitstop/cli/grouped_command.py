"""A command with many options: its help shows the common ones, `--help-all` the others by topic."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pitstop.cli import policy_file
from pitstop.cli.echo import tell


class GroupedCommand(click.Command):
    """A command whose options stand under headings in its help.

    `topics` has the names of options by heading, in one text; the first has the common ones.
    """

    def __init__(self, *arguments: Any, topics: Mapping[str, str], **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._topics = topics
        self._shows_all = False
        self.params.append(
            click.Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=self._show_all,
                help="Show all options and exit.",
            )
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Reads the command line, and behind it the file with the defaults."""
        if not ctx.resilient_parsing:
            ctx.default_map = policy_file.defaults(self, Path())
        return super().parse_args(ctx, args)

    def _show_all(self, context: click.Context, _option: click.Parameter, asked: bool) -> None:
        if asked:
            self._shows_all = True
            tell(self.get_help(context))
            context.exit()

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        options = [each for each in self.get_params(ctx) if isinstance(each, click.Option)]
        records = {max(each.opts, key=len): each.get_help_record(ctx) for each in options}
        topics = list(self._topics.items())
        for title, names in topics if self._shows_all else topics[:1]:
            with formatter.section(title):
                formatter.write_dl([record for name in names.split() if (record := records[name])])
