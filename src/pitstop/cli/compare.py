"""`pitstop compare`."""

from pathlib import Path

import click
from rich.console import Console

from pitstop.cli.echo import tell_json
from pitstop.cli.places import RUN
from pitstop.comparison import compare_runs
from pitstop.comparison.record import load_run
from pitstop.report import comparison

_EXIT_CODES = """\b
Exit codes:
  0    identical for all steps that both runs have
  1    different
  2    nothing to compare
"""


@click.command(epilog=_EXIT_CODES)
@click.argument("run_a", type=RUN)
@click.argument("run_b", type=RUN)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def compare(context: click.Context, run_a: Path, run_b: Path, *, as_json: bool) -> None:
    """Show the first step and tensor where two runs differ.

    Compares the loss and metrics of every step, and all variables, random
    streams and the input's position at the checkpoints of the same step.
    """
    found = compare_runs(load_run(run_a), load_run(run_b))
    if as_json:
        tell_json(comparison.to_json(found))
    else:
        comparison.show(found, Console())
    context.exit(0 if found.same else 1)
