"""`pitstop status`."""

from dataclasses import replace
from pathlib import Path

import click

from pitstop.cli.chosen_run import find_gang, find_run
from pitstop.cli.echo import tell, tell_json
from pitstop.cli.ls import counted, print_table
from pitstop.cli.places import PLACE, fetched
from pitstop.remote.place import RemotePlace
from pitstop.store.gang_folder import GangFolder, task_name
from pitstop.store.run_folder import RUN_FILE, find_runs, open_existing
from pitstop.supervisor.control.live_run import status_of, statuses_at
from pitstop.supervisor.runs.choice import RUNS
from pitstop.supervisor.status import Status, stored_status
from pitstop.supervisor.status_rows import describe


@click.command()
@click.argument("run", type=PLACE, required=False)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
@click.pass_context
def status(context: click.Context, run: Path | RemotePlace | None, *, as_json: bool) -> None:
    """Show the progress of RUN; for a launch, of each member.

    RUN is a folder, or the URL of a mirror.  Without RUN: the only run under runs/,
    or all of them.
    """
    if (gang := find_gang(run)) is not None:
        _show_members(gang, as_json=as_json)
        return
    found = [] if run is not None else find_runs(RUNS)
    if len(found) > 1 and not as_json:
        print_table(statuses_at(found))
        return
    now = _status(context, run)
    if as_json:
        tell_json(counted(now))
    else:
        tell("\n".join(f"{name:<12}{text}" for name, text in describe(now)))


def _show_members(gang: GangFolder, *, as_json: bool) -> None:
    # Those that are damaged too.
    there = [path for path in gang.members if (path / RUN_FILE).exists()]
    found = {path: Status(state="not started", run_dir=str(path)) for path in gang.members}
    found |= zip(there, statuses_at(there), strict=True)
    if as_json:
        rows = [{"task": task_name(path), **counted(each)} for path, each in found.items()]
        tell_json({"members": rows})
    else:
        print_table(list(found.values()))


def _status(context: click.Context, run: Path | RemotePlace | None) -> Status:
    if not isinstance(run, RemotePlace):
        return status_of(find_run(run), of_all=True)
    return replace(stored_status(open_existing(fetched(context, run))), run_dir=run.url)
