"""The run, or the launch, that a command is for."""

from pathlib import Path

from pitstop.errors import RunNotFound
from pitstop.launch.choice import gangs
from pitstop.remote.place import RemotePlace
from pitstop.store.gang_folder import GangFolder, is_gang, open_gang
from pitstop.store.run_folder import RUN_FILE, RunFolder, find_runs, open_existing
from pitstop.supervisor.processes.invocation import script_name
from pitstop.supervisor.runs.choice import RUNS, family, script_of


def find_run(path: Path | None) -> RunFolder:
    """The run that the user means: a folder, a script's newest, or the only one under runs/.

    Raises `RunNotFound` where there is none, or more than one to choose from.
    """
    if path is not None:
        of_script = [] if (path / RUN_FILE).exists() else runs_of_script(str(path))
        return of_script[0] if of_script else open_existing(path)
    found = find_runs(RUNS)
    if len(found) == 1:
        return open_existing(found[0])
    if not found:
        raise RunNotFound(f"There is no run under {RUNS}/.", "Give the run's folder.")
    names = ", ".join(str(each) for each in found)
    raise RunNotFound("There is more than one run here.", f"Choose one of {names}.")


def runs_of_script(name: str) -> list[RunFolder]:
    runs = family(RUNS, script_name(name))
    path = str(Path(name).resolve())
    return [run for run in runs if script_of(run) == path] or runs


def find_gang(path: Path | RemotePlace | None) -> GangFolder | None:
    """The launch that the user means, as `find_run`; None where a run is meant."""
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
