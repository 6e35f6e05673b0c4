"""`pitstop doctor`."""

import dataclasses
import os
import shutil
import sys
from pathlib import Path

import click

from pitstop.cli.echo import tell, tell_json
from pitstop.doctor.checks import Check, check, works
from pitstop.doctor.facts import ask, gather
from pitstop.errors import EnvironmentFault

_MARKS = {"ok": "ok   ", "less": "less ", "fails": "FAILS"}


@click.command()
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path(),
    help="Folder on the disk where runs are stored.  [default: current folder]",
)
@click.option(
    "--python",
    "python",
    help="Python interpreter that runs the training.  [default: `python` on the PATH]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def doctor(context: click.Context, *, run_dir: Path, python: str | None, as_json: bool) -> None:
    """Show what Pitstop can and cannot observe on this machine.

    For what it cannot observe, the output says how to enable it.
    The exit code is 0 unless training under Pitstop cannot work.
    """
    executable = python or shutil.which("python") or sys.executable
    try:
        facts = gather(run_dir, ask(executable), os.environ)
    except OSError as error:
        raise EnvironmentFault(
            f"{run_dir} cannot be written: {error.strerror}.", "Give another folder with --run-dir."
        ) from error
    checks = check(facts)
    if as_json:
        found = {
            "works": works(checks),
            "checks": [dataclasses.asdict(each) for each in checks],
            "facts": dataclasses.asdict(facts),
        }
        tell_json(found)
    else:
        for each in checks:
            tell("\n".join(describe(each)))
    context.exit(0 if works(checks) else 1)


def describe(found: Check) -> list[str]:
    lines = [f"{_MARKS[found.level]} {found.name:<14} {found.seen}"]
    lines += [f"{'':21}- {found.cost}"] if found.cost else []
    lines += [f"{'':21}- {found.remedy}"] if found.remedy else []
    return lines
