"""The folder of a launch: that of the same command, or a new one; never one of another shape."""

from collections.abc import Sequence
from pathlib import Path

from pitstop.engine.trainings.identity import Difference
from pitstop.errors import RunNotFound, UserError
from pitstop.store.gang_folder import GangFolder, Shape, create, is_gang, open_gang
from pitstop.store.lock import RunLock, own_record
from pitstop.store.run_folder import archive, open_existing
from pitstop.supervisor.processes.invocation import run_name
from pitstop.supervisor.runs import admission
from pitstop.supervisor.runs.choice import RUNS, RunChoice, alone, is_taken, numbered, of_name


class ShapeChanged(UserError):
    """The folder holds a launch of other members."""


def choose(command: Sequence[str], shape: Shape, root: Path = RUNS) -> RunChoice:
    """The folder of a launch, chosen as by `runs.choice.choose`."""
    now, name = admission.present_command(command), run_name(command)
    with alone(root):
        for gang in gangs(root, name):
            if not _changes(gang, now):
                return RunChoice(gang.path, f"the run is {gang.path}.")
        path = next(path for path in numbered(root, name) if not is_taken(path))
        create(path, shape, command)
    return RunChoice(path, f"a new run, {path}.")


def gangs(root: Path, name: str) -> list[GangFolder]:
    found = [open_gang(path) for path in of_name(root, name) if is_gang(path)]
    return sorted(found, key=lambda gang: gang.created_seconds, reverse=True)


def claim(
    path: Path, shape: Shape, command: Sequence[str], *, new: bool, takes: bool
) -> tuple[GangFolder, RunLock]:
    """The launch's folder, made or put aside (`new`), and locked; `takes`: also another command's.

    Raises `RunInUse`, `ShapeChanged`, `CommandChanged`, `RunFolderInvalid` or
    `RunFolderUnwritable`.
    """
    gang = open_gang(path) if is_gang(path) else create(path, shape, command)
    if not new:
        _admit(gang, shape, command, takes=takes)
    lock = RunLock.acquire(gang.lock, own_record())
    if not new or not any(member.exists() for member in gang.members):
        return gang, lock
    archive(path)
    lock.close()
    return claim(path, shape, command, new=False, takes=takes)


def joined(path: Path, shape: Shape, command: Sequence[str], *, takes: bool) -> GangFolder:
    """The folder of a cluster that nobody locks; its first member makes it.  Raises as `claim`."""
    with alone(path.parent):
        gang = open_gang(path) if is_gang(path) else create(path, shape, command)
    _admit(gang, shape, command, takes=takes)
    return gang


def _admit(gang: GangFolder, shape: Shape, command: Sequence[str], *, takes: bool) -> None:
    changed = () if takes else _changes(gang, admission.present_command(command))
    if gang.shape != shape:
        raise ShapeChanged(
            f"{gang.path} belongs to a launch of {gang.shape}, but this one has {shape}: the "
            "saved state fits only the same members.",
            "Launch the same members as before, use another folder with --run-dir, or start over "
            "with --new.",
        )
    if changed:
        what = admission.in_words(changed)
        raise admission.CommandChanged(
            f"{gang.path} belongs to a launch of a different command ({what}).",
            "Use another folder with --run-dir, start over with --new, or resume with --take all.",
        )


def _changes(gang: GangFolder, now: admission.StartedCommand) -> tuple[Difference, ...]:
    try:
        return admission.changes_since(open_existing(gang.members[0]), now)
    except RunNotFound:
        return admission.changes(admission.command_of(gang.command, "", {}), now, moved=False)
