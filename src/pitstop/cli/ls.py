"""`pitstop ls`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from pitstop.cli.chosen_run import runs_of_script
from pitstop.cli.echo import tell, tell_json
from pitstop.cli.places import PLACE, fetched, find_remote_runs
from pitstop.events import JsonValue
from pitstop.remote.place import RemotePlace
from pitstop.store.run_folder import find_runs
from pitstop.supervisor.control.live_run import status_at, statuses_at
from pitstop.supervisor.runs.choice import RUNS
from pitstop.supervisor.status import Status
from pitstop.supervisor.status_rows import cells

_COLUMNS = ("run", "state", "step", "epoch", "saved", "attempt", "loss", "best")


@click.command()
@click.argument("folder", type=PLACE, default=RUNS)
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list with one object per run.")
@click.option("--watch", "live", is_flag=True, help="Show them live, as `pitstop watch` does.")
@click.pass_context
def ls(context: click.Context, folder: Path | RemotePlace, *, as_json: bool, live: bool) -> None:
    """List the runs under FOLDER (default: runs/).

    FOLDER can also be a URL, or the name of a script, to list the runs of this script.
    """
    if live:
        from pitstop.cli.watch import watch  # noqa: PLC0415 - only then: it takes 0.2 s

        if as_json or not isinstance(folder, Path):
            raise click.UsageError("--watch shows runs of this machine in a terminal.")
        context.invoke(watch, run=folder)
        return
    found = list(_statuses(context, folder))
    if as_json:
        tell_json([counted(status) for status in found])
    elif found:
        print_table(found)
    else:
        tell(f"There is no run under {folder}/.")


def _statuses(context: click.Context, folder: Path | RemotePlace) -> Iterator[Status]:
    if isinstance(folder, Path):
        of_script = (run.path for run in runs_of_script(str(folder)))
        yield from statuses_at(find_runs(folder) or list(of_script))
        return
    for place in find_remote_runs(folder):
        yield replace(status_at(fetched(context, place)), run_dir=place.url)


def counted(status: Status) -> dict[str, JsonValue]:
    """The status for programs, its epochs counted from 1 as the text counts them."""
    found = status.to_json()
    epochs = {"epoch": status.epoch, "best_epoch": status.best_epoch}
    return found | {name: epoch + 1 for name, epoch in epochs.items() if epoch is not None}


def print_table(found: Sequence[Status]) -> None:
    texts = [cells(each) | {"run": each.run_dir} for each in found]
    rows = [_COLUMNS, *([each[name] or "-" for name in _COLUMNS] for each in texts)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        padded = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        tell("  ".join(padded).rstrip())
