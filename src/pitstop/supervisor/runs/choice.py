"""The folder of a run that nobody has named: that of the same command, or a new one beside it."""

import contextlib
import fcntl
import os
import re
from collections.abc import Iterator, Sequence
from itertools import chain, count
from pathlib import Path

from pitstop.errors import RunFolderUnwritable
from pitstop.record import Frozen
from pitstop.store.disk_fault import explained
from pitstop.store.run_folder import RUN_FILE, RunFolder, open_existing, open_or_create
from pitstop.supervisor.processes.invocation import run_name
from pitstop.supervisor.records.fingerprint import of_new_runs
from pitstop.supervisor.runs import admission
from pitstop.supervisor.runs.admission import StartedCommand, in_words, same_target

RUNS = Path("runs")


class RunChoice(Frozen):
    """A run's folder, which is there by now, and what to tell the user of it."""

    path: Path
    line: str


def choose(command: Sequence[str], *, takes: bool = False, root: Path = RUNS) -> RunChoice:
    """The run of this command below `root`; a new one where there is none.

    Two calls at the same time never get one folder for two commands.  With `takes`, another command
    of the same script may go on with its newest run.  Raises `RunFolderInvalid` or
    `RunFolderUnwritable`.
    """
    now, name = admission.present_command(command), run_name(command)
    with alone(root):
        if found := existing(command, root):
            return RunChoice(found, f"the run is {found}.")
        runs = family(root, name)
        if takes and (older := _same_script(runs, now)):
            return RunChoice(older.path, f"the run is {older.path}.")
        path = next(path for path in numbered(root, name) if not is_taken(path))
        open_or_create(path, command, Path.cwd(), of_new_runs(os.environ))
    return RunChoice(path, _new_line(path, runs, now))


def existing(command: Sequence[str], root: Path = RUNS) -> Path | None:
    now = admission.present_command(command)
    runs = family(root, run_name(command))
    return next((run.path for run in runs if not admission.changes_since(run, now)), None)


def family(root: Path, name: str) -> list[RunFolder]:
    """The runs below `root` that have this name, with a number or without; the newest first."""
    runs = [open_existing(path) for path in of_name(root, name) if (path / RUN_FILE).exists()]
    own = [run for run in runs if run_name(run.identity.command) == name]
    return sorted(own, key=_used_seconds, reverse=True)


def of_name(root: Path, name: str) -> list[Path]:
    pattern = re.compile(re.escape(name) + r"(-\d+)?")
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        return [path for path in root.iterdir() if path.is_dir() and pattern.fullmatch(path.name)]
    return []


def script_of(run: RunFolder) -> str:
    return admission.command_of_run(run).script


def _used_seconds(run: RunFolder) -> float:
    with contextlib.suppress(OSError):
        return run.journal.stat().st_mtime
    return run.identity.created_seconds


def _same_script(runs: Sequence[RunFolder], now: StartedCommand) -> RunFolder | None:
    for run in runs:
        before = admission.command_of_run(run)
        if same_target(before, now, moved=admission.is_moved(before, now, mirrored=False)):
            return run
    return None


def _new_line(path: Path, runs: Sequence[RunFolder], now: StartedCommand) -> str:
    if not runs:
        return f"a new run, {path}."
    # The user most likely means the run that differs least.
    found = [(admission.changes_since(run, now), run.path) for run in runs]
    changed, nearest = min(found, key=lambda each: len(each[0]))
    return f"a new run, {path}; {nearest} is a different run ({in_words(changed)})."


def numbered(root: Path, name: str) -> Iterator[Path]:
    """The places of runs of this name below `root`: NAME, NAME-2, NAME-3, ..."""
    return chain([root / name], (root / f"{name}-{number}" for number in count(2)))


def is_taken(path: Path) -> bool:
    """Whether anything is there but an empty folder."""
    if not path.is_dir():
        return os.path.lexists(path)
    return any(path.iterdir())


@contextlib.contextmanager
def alone(root: Path) -> Iterator[None]:
    """Keeps others from making a run below `root` meanwhile; raises `RunFolderUnwritable`."""
    with explained(f"The folder {root} cannot be used", RunFolderUnwritable):
        root.mkdir(parents=True, exist_ok=True)
        fd = os.open(root, os.O_RDONLY | os.O_CLOEXEC)
    try:
        # Some network disks have no locks for folders.
        with contextlib.suppress(OSError):
            fcntl.flock(fd, fcntl.LOCK_EX)
        yield
    finally:
        os.close(fd)
