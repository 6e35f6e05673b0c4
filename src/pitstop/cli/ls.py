"""`pitstop ls`."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import click

from pitstop.cli.live_run import RUNS, status_at
from pitstop.store.run_folder import find_runs
from pitstop.supervisor.status import Status

_COLUMNS = ("run", "state", "step", "epoch", "saved", "attempt")


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=RUNS)
@click.option("--json", "as_json", is_flag=True, help="A JSON list, one object per run.")
def ls(folder: Path, *, as_json: bool) -> None:
    """List the runs below FOLDER (default: runs/)."""
    found = [status_at(path) for path in find_runs(folder)]
    if as_json:
        objects = [status.to_json() for status in found]
        click.echo(json.dumps(objects, indent=2, allow_nan=False))
    elif found:
        print_table(found)
    else:
        click.echo(f"There is no run under {folder}/.")


def print_table(found: Sequence[Status]) -> None:
    """One line per run."""
    rows = [_COLUMNS, *(_row(status) for status in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        click.echo("  ".join(cells).rstrip())


def _row(status: Status) -> tuple[str, ...]:
    epoch = None if status.epoch is None else status.epoch + 1
    numbers = (status.step, epoch, status.checkpoint_step, status.attempt or None)
    return (status.run_dir, status.state, *("-" if n is None else str(n) for n in numbers))
