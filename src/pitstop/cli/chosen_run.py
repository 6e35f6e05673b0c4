"""Which run a command is about."""

from __future__ import annotations

from pathlib import Path

from pitstop.errors import RunNotFound
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
    raise RunNotFound("There is more than one run here.", f"Name one of {names}.")


def runs_of_script(name: str) -> list[RunFolder]:
    """The runs below runs/ of a script, named by its path or its name; the newest first."""
    runs = family(RUNS, script_name(name))
    path = str(Path(name).resolve())
    return [run for run in runs if script_of(run) == path] or runs
