"""The folders that a script itself names, by its callbacks and by where it runs.

What a state says of files holds for these alone: a state may come from anybody who can write the
run's folder or its mirror.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from pitstop.keras import private


def event_folders(callbacks: Iterable[Any]) -> frozenset[Path]:
    """Where the TensorBoard callbacks write, absolute."""
    named = (each for callback in callbacks for each in private.tensorboard_folders(callback))
    return frozenset(Path(each).absolute() for each in named)


def foreign_path(value: Any, callback: Any) -> str:
    """The first text in a value that names a place which is none of the callback's; or empty.

    Args:
        value: what is to become an attribute.
        callback: as the script has made it.
    """
    own = [Path.cwd(), *_folders_of(callback)]
    return next((text for text in _paths(value) if not _is_below(text, own)), "")


def _folders_of(callback: Any) -> Iterator[Path]:
    for value in vars(callback).values():
        for text in _paths(value):
            yield Path(os.path.normpath(Path(text).absolute())).parent


def _paths(value: Any) -> Iterator[str]:
    if isinstance(value, str | os.PathLike):
        text = os.fspath(value)
        if isinstance(text, str) and os.sep in text and "://" not in text:
            yield text
    elif isinstance(value, dict):
        yield from (text for each in value.items() for text in _paths(each))
    elif isinstance(value, list | tuple | set | frozenset):
        yield from (text for each in value for text in _paths(each))


def _is_below(text: str, folders: list[Path]) -> bool:
    place = Path(os.path.normpath(Path(text).absolute()))
    return any(place.is_relative_to(folder) for folder in folders if folder != Path("/"))
