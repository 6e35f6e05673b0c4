"""What a script has written under names that the time or chance makes: copied to those of now.

A script that runs again makes a new folder (`exp-20250131-120000`).  It writes there, and it looks
there for what it has written before the interruption too.
"""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pitstop.engine.made_folders import MADE, is_moved, moved
from pitstop.keras import callback_match

_FIELDS = re.compile(r"\{[^{}]*\}")
_MOST_BYTES = 1 << 30
_EVENTS = "tfevents"
"""In names of TensorBoard's files: each process has its own."""


@dataclass(frozen=True)
class Followed:
    """What was found under names of before.

    Attributes:
        copied: where the copies are; they keep the time of the last change.
        left: files that are too large together to be copied, where they were.
    """

    copied: tuple[Path, ...] = ()
    left: tuple[Path, ...] = ()


def follow(callbacks: list[Any], fit: dict[str, Any], most_bytes: int = _MOST_BYTES) -> Followed:
    """Copies what an earlier attempt has written to where the script writes now.

    What is there already stays; files of more than `most_bytes` together stay where they are.
    """
    folders = moved(fit.get("folders", ()), MADE.paths)
    pairs = dict.fromkeys((*_in_folders(folders), *_of_callbacks(callbacks, fit["callbacks"])))
    missing = [(source, target) for source, target in pairs if _is_missing(source, target)]
    if sum(source.stat().st_size for source, _ in missing) > most_bytes:
        return Followed(left=tuple(source for source, _ in missing))
    for source, target in missing:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(source, target)
    return Followed(copied=tuple(target for _, target in missing))


def _is_missing(source: Path, target: Path) -> bool:
    is_file = source.is_file() and not source.is_symlink()
    return is_file and not target.exists() and not target.is_symlink()


def _in_folders(folders: Iterable[tuple[Path, Path]]) -> Iterator[tuple[Path, Path]]:
    for old, new in folders:
        for path in sorted(old.rglob("*")):
            if _EVENTS not in path.name:
                yield path, new / path.relative_to(old)


def _of_callbacks(
    callbacks: list[Any], described: list[dict[str, Any]]
) -> Iterator[tuple[Path, Path]]:
    for saved, callback in callback_match.matched(described, callbacks):
        for key, before in saved["attributes"].items() if callback is not None else ():
            now = vars(callback).get(key)
            if is_moved(now, before):
                yield from _pairs(Path(before), Path(now))


def _pairs(before: Path, now: Path) -> Iterator[tuple[Path, Path]]:
    """The files of a path, or of one with fields such as `{epoch:02d}`, and their new places."""
    if "{" not in before.name:
        yield before, now
    elif before.name == now.name:
        pattern = _FIELDS.sub("*", glob.escape(before.name))
        yield from ((each, now.parent / each.name) for each in before.parent.glob(pattern))
