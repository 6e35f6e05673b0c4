"""`pitstop drill`."""

import signal
from pathlib import Path

import click
from rich.console import Console

from pitstop.cli.echo import tell_json
from pitstop.drill import DrillRequest, DrillVerdict, run_drill
from pitstop.drill.runner import make_folder
from pitstop.plain_text import json_text, say
from pitstop.report import drill as report
from pitstop.supervisor.processes.invocation import run_name
from pitstop.supervisor.processes.process import find_program

_CONTEXT = {"ignore_unknown_options": True, "allow_interspersed_args": False}
_EXIT_CODES = """\b
Exit codes:
  0    every interrupted run is identical
  1    something differs
  2    usage error, or the script fails without an interruption
"""
# Hidden, so that `pitstop ls` and the commands that look for the only run pass it by.
_DRILLS = Path("runs") / ".drill"


@click.command(context_settings=_CONTEXT, epilog=_EXIT_CODES)
@click.option(
    "--kills", type=click.IntRange(min=0), default=3, show_default=True, help="Number of kills."
)
@click.option(
    "--stops", type=click.IntRange(min=0), default=1, show_default=True, help="Number of stops."
)
@click.option(
    "--steps",
    type=click.IntRange(min=0),
    default=0,
    help="Stop every run after this step.  [default: train to the end]",
)
@click.option("--seed", type=int, default=0, help="Random seed.", show_default=True)
@click.option(
    "--run-dir",
    type=click.Path(path_type=Path),
    help="Folder for the runs of the drill.  [default: runs/.drill/<script name>]",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.argument("command", nargs=-1, type=click.UNPROCESSED, required=True)
@click.pass_context
def drill(
    context: click.Context,
    *,
    kills: int,
    stops: int,
    steps: int,
    seed: int,
    run_dir: Path | None,
    as_json: bool,
    command: tuple[str, ...],
) -> None:
    """Interrupt COMMAND and prove that it resumes exactly.

    Runs it once to the end, then again for every kill and stop: in the middle,
    at the end of an epoch, after the first step, at random steps.  Every
    interrupted run is resumed and compared with the first one, bit for bit.

    All runs work in the current folder and overwrite each other's files.  The script
    sees PITSTOP_DRILL=1.
    """
    if not kills + stops:
        raise click.UsageError("Give --kills or --stops a number above 0.")
    find_program(command)
    # The run that is under way is ended as well, as by Ctrl-C.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = make_folder(run_dir or _DRILLS / run_name(command))
    say("all runs use this folder and overwrite each other's files.")
    request = DrillRequest(command, kills, stops, steps, seed)
    found = run_drill(request, folder, say)
    told = report.to_json(found)
    folder.save(json_text(told) + "\n")
    if as_json:
        tell_json(told)
    else:
        report.show(found, Console())
    context.exit(0 if found.verdict is DrillVerdict.EXACT else 1)
