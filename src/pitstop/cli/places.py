"""Where a run is: a local folder, or a URL that mirrors one."""

import importlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import click
from click.shell_completion import CompletionItem

from pitstop.errors import EnvironmentFault
from pitstop.remote.place import RemotePlace, is_url, parse


class _CompletedType(click.ParamType[Any]):
    """A type whose values a shell completes."""

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The runs below runs/ that begin with the word; without any, folders."""
        from pitstop.store.run_folder import find_runs
        from pitstop.supervisor.runs.choice import RUNS

        found = [str(run) for run in find_runs(RUNS)]
        items = [CompletionItem(run) for run in found if run.startswith(incomplete)]
        return items or [CompletionItem(incomplete, type="dir")]


class RunType(_CompletedType, click.Path):
    """The folder of a run."""


class PlaceType(_CompletedType):
    name = "folder or URL"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path | RemotePlace:
        text = str(value)
        if not text:
            self.fail("the name is empty; check that the shell variable is set.", param, ctx)
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
    _reader().fetch(place.url, target)
    return target


def find_remote_runs(place: RemotePlace) -> list[RemotePlace]:
    return [RemotePlace(url) for url in _reader().find(place.url)]


def _reader() -> ModuleType:
    """The module that reads mirrors: its libraries are large, and may not be installed."""
    try:
        return importlib.import_module("pitstop.remote.fetch")
    except ImportError as error:
        remedy = "Install what reads mirrors: `pip install 'pitstop[remote]'`."
        raise EnvironmentFault(f"The mirror cannot be read: {error}.", remedy) from error
