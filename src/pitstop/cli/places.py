"""Where a run is: a local folder, or a URL that mirrors one."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import click

from pitstop.errors import EnvironmentFault, UserError
from pitstop.link.settings import own_environment
from pitstop.remote.place import RemotePlace, is_url, parse

_READER = "pitstop.remote.reading"


class PlaceType(click.ParamType[Path | RemotePlace]):
    """A folder, or the URL of one."""

    name = "folder or URL"

    def convert(self, value: Any, param: Any, ctx: Any) -> Path | RemotePlace:
        text = str(value)
        return parse(text) if is_url(text) else Path(text)


PLACE = PlaceType()


def local_and_mirror(place: Path | RemotePlace | None, local_dir: Path | None) -> tuple[Path, str]:
    """The folder that a run works in, and the URL of its mirror or empty.

    Raises `UserError` for a folder beside the one that is named.
    """
    if isinstance(place, RemotePlace):
        return local_dir or place.working_copy, place.url
    if local_dir is not None or place is None:
        raise UserError(
            "--local-dir is for a run whose --run-dir is a URL.", "Name the folder with --run-dir."
        )
    return place, ""


def fetched(context: click.Context, place: RemotePlace) -> Path:
    """The records of a mirrored run, in a folder that lasts as long as the command.

    Raises `RunNotFound`, or `EnvironmentFault` where the mirror cannot be read.
    """
    folder = tempfile.TemporaryDirectory(prefix="pitstop-")
    context.call_on_close(folder.cleanup)
    target = Path(folder.name) / place.name
    _read(place.url, "--into", str(target))
    return target


def find_remote_runs(place: RemotePlace) -> list[RemotePlace]:
    """The runs at a URL, or right below it.

    Raises:
        EnvironmentFault: it cannot be read.
    """
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
        raise EnvironmentFault(f"{words[0]} could not be read; the reason is above.")
    answer = json.loads(answered.stdout)
    if "message" in answer:
        kind = UserError if answer["by_user"] else EnvironmentFault
        raise kind(answer["message"], answer["remedy"])
    found: list[str] = answer["found"]
    return found
