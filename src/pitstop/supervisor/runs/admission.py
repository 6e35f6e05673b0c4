"""Whether a run goes on with a command: another one's state is not for it."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from pitstop import journal
from pitstop.engine.identity import Difference
from pitstop.errors import UserError
from pitstop.masking import masked_words
from pitstop.store.catalog import Catalog
from pitstop.store.run_folder import RunFolder
from pitstop.supervisor.records import fingerprint
from pitstop.supervisor.runs.command_change import (
    WORKING_FOLDER,
    StartedCommand,
    changes,
    command_of,
    in_words,
    last_command,
    modules_of,
)
from pitstop.supervisor.runs.run_request import RunRequest
from pitstop.supervisor.status import is_completed


class CommandChanged(UserError):
    """The folder holds a run of another command."""


def present_command(words: Sequence[str]) -> StartedCommand:
    return command_of(masked_words(words), socket.gethostname(), fingerprint.sources(words))


def command_of_run(folder: RunFolder) -> StartedCommand:
    made_for, cwd = folder.identity.command, folder.identity.cwd
    started = last_command(journal.read(folder.journal).entries)
    if started is None:
        script = fingerprint.find_script(made_for, Path(cwd))
        return command_of(
            made_for, "", {"cwd": cwd, "script": (str(script.resolve()) if script else "")}
        )
    return started if started.cwd else replace(started, cwd=cwd)


def changes_since(
    folder: RunFolder, now: StartedCommand, *, mirrored: bool = False
) -> tuple[Difference, ...]:
    before = command_of_run(folder)
    return changes(before, now, moved=is_moved(before, now, mirrored=mirrored))


def changes_of(request: RunRequest, folder: RunFolder) -> tuple[Difference, ...]:
    now = present_command(request.command)
    return changes_since(folder, now, mirrored=bool(request.mirror))


def is_moved(before: StartedCommand, now: StartedCommand, *, mirrored: bool) -> bool:
    """Whether the run's project lies elsewhere than it did, so that its paths say nothing."""
    elsewhere = bool(before.host) and before.host != now.host
    gone = not Path(before.script or before.cwd or "/").exists()
    return mirrored or elsewhere or gone


def admit(request: RunRequest, folder: RunFolder) -> None:
    """Raises `CommandChanged` where the saved state is another command's, and nobody means that."""
    # Each training of a notebook is known by what it is, whichever kernel runs it.
    meant = request.kernel or request.settings.take or request.settings.force
    found = () if meant else changes_of(request, folder)
    if found and _has_anything(folder):
        raise CommandChanged(
            f"{folder.path} belongs to a run of a different command ({in_words(found)}).",
            _ways_on(found, launched=not request.trainer_pid),
        )


def is_finished(request: RunRequest, folder: RunFolder) -> bool:
    """Whether the command has trained to its end, and would only do the same once more."""
    entries = journal.read(folder.journal).entries
    if not is_completed(entries) or request.trainer_pid or request.settings.take:
        return False
    before, now = command_of_run(folder), present_command(request.command)
    same_script = not before.script_digest or before.script_digest == now.script_digest
    modules = modules_of(entries).items()
    same_modules = all(fingerprint.digest_of(Path(path)) == digest for path, digest in modules)
    ended_seconds = entries[-1].time_seconds
    # What was written before the end may be the script's own.
    edited = [
        name
        for name, digest in before.files.items()
        if now.files.get(name) != digest and _changed_seconds(name) > ended_seconds
    ]
    return same_script and same_modules and not edited


def _changed_seconds(name: str) -> float:
    try:
        return Path(name).stat().st_mtime
    except OSError:
        return 0.0


def _has_anything(folder: RunFolder) -> bool:
    completed = is_completed(journal.read(folder.journal).entries)
    return completed or bool(Catalog(folder.checkpoints).entries())


def _ways_on(found: Sequence[Difference], *, launched: bool) -> str:
    if not launched:
        return "Give each command its own folder, or start this one with `pitstop run --take`."
    folders = [each.before for each in found if each.name == WORKING_FOLDER]
    back = f"Start it in {folders[0]}; or use" if folders else "Use"
    return (
        f"{back} another folder with --run-dir, start over with --new, or resume with --take all, "
        "or with --take NAME for each hyperparameter to change."
    )
