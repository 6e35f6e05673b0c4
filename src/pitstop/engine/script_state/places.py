"""The folders that a script itself names, by what it holds and by where it runs.

A state may come from anybody who can write the run's folder or its mirror: it leads the script
to no other places.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pitstop.engine.script_state.frozen import Record, Tensor


def folders_named_in(value: Any) -> list[Path]:
    """The working directory, and the folders of the paths in a value."""
    return [Path.cwd(), *(_absolute(text).parent for text in _paths(value))]


def foreign_path(value: Any, own: list[Path]) -> str:
    """The first text in a value that names a place in none of these folders; or empty."""
    return next((text for text in _paths(value) if not _is_below(text, own)), "")


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str) and os.sep in text and "://" not in text:
            yield text
    elif isinstance(value, dict):
        yield from (text for each in value.items() for text in _paths(each))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (text for each in value for text in _paths(each))
    elif isinstance(value, Record):
        yield from _paths(value.items)
    elif isinstance(value, Tensor):
        yield from _paths(value.value)


def _absolute(text: str) -> Path:
    return Path(os.path.normpath(Path(text).absolute()))


def _is_below(text: str, folders: list[Path]) -> bool:
    place = _absolute(text)
    return any(place.is_relative_to(folder) for folder in folders if folder != Path("/"))
