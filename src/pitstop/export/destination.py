"""Where an export goes: written beside its place, and there at once when it is whole."""

from __future__ import annotations

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from pitstop.errors import EnvironmentFault, UserError
from pitstop.store.disk_fault import explain


def check(path: Path, *, force: bool) -> None:
    """Makes sure, before any work is done, that a path is free and its folder can be written.

    Raises:
        UserError: something is there, and may not be replaced.
        EnvironmentFault: its folder cannot be written.
    """
    if path.exists() and not force:
        raise UserError(f"{path} exists.", "Name another place, or replace it with --force.")
    with _explained(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        if not os.access(path.parent, os.W_OK):
            raise PermissionError(13, "Permission denied")


@contextlib.contextmanager
def written(path: Path) -> Iterator[Path]:
    """Gives a path to write to; what is there at the end of the block becomes `path`.

    An exception in the block leaves `path` as it was, and nothing beside it.

    Raises:
        EnvironmentFault: the disk refused.
    """
    # The suffix says which format Keras writes: the name keeps its end.
    partial = path.with_name(f".partial-{os.getpid()}-{path.name}")
    try:
        with _explained(path):
            yield partial
            _replace(partial, path)
    finally:
        _remove(partial)


def _replace(partial: Path, path: Path) -> None:
    replaced = path.with_name(f".replaced-{os.getpid()}-{path.name}")
    if path.exists():
        path.rename(replaced)
    partial.rename(path)
    _remove(replaced)


def _remove(path: Path) -> None:
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        fault = explain(error)
        raise EnvironmentFault(f"{path} cannot be written: {fault.cause}.", fault.remedy) from error
