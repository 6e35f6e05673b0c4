"""Options in groups: one value of a command for several, and headings in its help."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import click

from pitstop.cli import policy_file
from pitstop.cli.echo import tell


@functools.cache
def topics() -> dict[str, dict[str, str]]:
    """The options of `pitstop run` and their help, by the heading under which they stand."""
    import tomllib  # where help is shown

    return tomllib.loads(Path(__file__).with_name("run_options.toml").read_text(encoding="utf-8"))


class _Option(click.Option):
    """An option of `pitstop run`; its help is read where it is shown."""

    @property
    def help(self) -> str | None:
        name = max(self.opts, key=len).removeprefix("--")
        return next((texts[name] for texts in topics().values() if name in texts), None)

    @help.setter
    def help(self, _: str | None) -> None:
        return


option = functools.partial(click.option, cls=_Option)


class GroupedCommand(click.Command):
    """A command whose options stand under the headings of `topics` in its help.

    `--help` shows the first heading, the common ones, `--help-all` the others too.
    """

    def __init__(self, *arguments: Any, **given: Any) -> None:
        super().__init__(*arguments, **given)
        self._shows_all = False
        self.params.append(
            _Option(
                ["--help-all"],
                is_flag=True,
                is_eager=True,
                expose_value=False,
                callback=self._show_all,
            )
        )

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
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
        found = list(topics().items())
        for title, texts in found if self._shows_all else found[:1]:
            with formatter.section(title):
                formatter.write_dl([record for name in texts if (record := records[f"--{name}"])])


_Command = TypeVar("_Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]  # A decorator of click's


def option_group(
    name: str, make: Callable[..., object], *options: Option
) -> Callable[[_Command], _Command]:
    """A decorator that adds options to a command, which gets one value `name` for all of them.

    `make` is given the options' values by their names.  The help lists them in this order.
    """

    def decorate(command: _Command) -> _Command:
        @functools.wraps(command)
        def with_value(*arguments: Any, **given: Any) -> Any:
            own = {each: given.pop(each) for each in names}
            return command(*arguments, **given, **{name: make(**own)})

        for option in reversed(options):
            option(with_value)
        # `click` collects the parameters of a command here, the last one first.
        names = [each.name for each in vars(with_value)["__click_params__"][-len(options) :]]
        return cast(_Command, with_value)

    return decorate
