"""Where a run is: a local folder, or a URL that mirrors one."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from click.shell_completion import CompletionItem

from pitstop.errors import EnvironmentFault, UserError
from pitstop.link.settings import own_environment
from pitstop.remote.place import RemotePlace, is_url, parse

_READER = "pitstop.remote.fetch"


class _CompletedType(click.ParamType[Any]):
    """One whose words a shell completes."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The runs below runs/ that the word may become, else a folder."""
        from pitstop.store.run_folder import find_runs
        from pitstop.supervisor.runs.choice import RUNS

        found = [str(run) for run in find_runs(RUNS)]
        items = [CompletionItem(run) for run in found if run.startswith(incomplete)]
        return items or [CompletionItem(incomplete, type="dir")]


class RunType(_CompletedType, click.Path):
    """The folder of a run."""


class PlaceType(_CompletedType):
    """A folder, or the URL of one."""

    name = "folder or URL"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path | RemotePlace:
        text = str(value)
        return parse(text) if is_url(text) else Path(text)


PLACE = PlaceType()
RUN = RunType(path_type=Path)


def folder_of_slurm_task(
    place: Path | RemotePlace | None, command: Sequence[str], *, new: bool, takes: bool
) -> Path:
    from pitstop.launch import choice, slurm

    if new or isinstance(place, RemotePlace):
        raise click.UsageError("--cluster slurm needs a folder that all tasks see, and no --new.")
    task = slurm.task_of(os.environ)
    os.environ |= task.variables(slurm.host_names(task.nodes))
    path = place or choice.choose(command, task.shape).path
    return choice.joined(path, task.shape, command, takes=takes).members[task.index]


def fetched(context: click.Context, place: RemotePlace) -> Path:
    """The records of a mirrored run, in a folder that lasts as long as the command."""
    folder = tempfile.TemporaryDirectory(prefix="pitstop-")
    context.call_on_close(folder.cleanup)
    target = Path(folder.name) / place.name
    _read(place.url, "--into", str(target))
    return target


def find_remote_runs(place: RemotePlace) -> list[RemotePlace]:
    return [RemotePlace(url) for url in _read(place.url)]


def _read(*words: str) -> list[str]:
    """Asks a process of its own: what it loads is large, and need not be installed."""
    import subprocess

    answered = subprocess.run(
        [sys.executable, "-P", "-m", _READER, *words],
        env=own_environment(os.environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        check=False,
    )
    if answered.returncode:
        raise EnvironmentFault(f"{words[0]} could not be read; see the error above.")
    answer = json.loads(answered.stdout)
    if "message" in answer:
        kind = UserError if answer["by_user"] else EnvironmentFault
        raise kind(answer["message"], answer["remedy"])
    found: list[str] = answer["found"]
    return found
