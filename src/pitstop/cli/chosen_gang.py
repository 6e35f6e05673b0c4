"""Which launch a command is about."""

from __future__ import annotations

from pathlib import Path

from pitstop.cli.chosen_run import runs_of_script
from pitstop.launch.choice import gangs
from pitstop.remote.place import RemotePlace
from pitstop.store.gang_folder import GangFolder, is_gang, open_gang
from pitstop.store.run_folder import RUN_FILE, RunFolder, find_runs, open_existing
from pitstop.supervisor.processes.invocation import script_name
from pitstop.supervisor.runs.choice import RUNS


def find_gang(path: Path | RemotePlace | None) -> GangFolder | None:
    """The launch that the user means: a folder, a script's newest, or the only one under runs/.

    None where a run is meant; `RunFolderInvalid` where its gang.json is damaged.
    """
    if isinstance(path, RemotePlace):
        return None
    if path is None:
        places = {run.parent.parent for run in find_runs(RUNS)}
        only = places.pop() if len(places) == 1 else None
        return open_gang(only) if only is not None and is_gang(only) else None
    if is_gang(path):
        return open_gang(path)
    if (path / RUN_FILE).exists() or runs_of_script(str(path)):
        return None
    return next(iter(gangs(RUNS, script_name(str(path)))), None)


def begun(gang: GangFolder) -> list[RunFolder]:
    return [open_existing(path) for path in gang.members if (path / RUN_FILE).exists()]
