"""The sub-commands of `pitstop`, and the one place that prints errors."""

import importlib
import io
import sys
from collections.abc import Sequence

import click

import pitstop
from pitstop import errors
from pitstop.cli.echo import tell_json
from pitstop.plain_text import say

_EXIT_INTERRUPTED = 130
COMMANDS = (
    "run",
    "launch",
    "stop",
    "checkpoint",
    "status",
    "ls",
    "watch",
    "why",
    "explain",
    "diagnose",
    "checkpoints",
    "compare",
    "doctor",
    "drill",
    "export",
    "find-nan",
    "plan",
    "completion",
)


class LazyGroup(click.Group):
    """Each command lies in a module of its own, and has its name: `find-nan` in `find_nan`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in COMMANDS:
            return None
        name = cmd_name.replace("-", "_")
        command: click.Command = getattr(importlib.import_module(f"pitstop.cli.{name}"), name)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(pitstop.__version__, prog_name="pitstop")
def cli() -> None:
    """Stop TensorFlow training anywhere, resume it bit for bit, know why it stopped."""


def exit_code_of(error: errors.PitstopError) -> int:
    match error:
        case errors.CommandNotFound():
            return 127
        case errors.CommandNotExecutable():
            return 126
        case errors.UserError():
            return 2
        case _:
            return 1


def _wants_json(arguments: Sequence[str] | None) -> bool:
    """Whether the output is for a program; a script's own options do not count."""
    words = sys.argv[1:] if arguments is None else list(arguments)
    return "--json" in (words[: words.index("--")] if "--" in words else words)


def _run(arguments: Sequence[str] | None) -> int:
    try:
        code: int = cli.main(arguments, prog_name="pitstop", standalone_mode=False)
    except PermissionError as error:  # a file of another user
        from pitstop.store.disk_fault import explain  # noqa: PLC0415 - only then

        fault = explain(error)
        message = f"{error.filename or 'A file'} cannot be used: {fault.cause}."
        raise errors.EnvironmentFault(message, fault.remedy) from error
    return code


def call(arguments: Sequence[str] | None) -> int:
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that lacks a character still gets the rest of the line.
        sys.stdout.reconfigure(errors="replace")
    try:
        code = _run(arguments)
    except errors.PitstopError as error:
        code = exit_code_of(error)
        if _wants_json(arguments):
            tell_json({"error": error.message, "remedy": error.remedy, "exit_code": code})
        else:
            say(str(error))
    except click.ClickException as error:
        code = error.exit_code
        if _wants_json(arguments):
            tell_json({"error": error.format_message(), "remedy": "", "exit_code": code})
        else:
            error.show()
    except click.Abort:
        return _EXIT_INTERRUPTED
    return code
