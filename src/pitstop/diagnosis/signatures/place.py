"""What the program was doing, read from the functions that a traceback goes through."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from pitstop.diagnosis.exception import Frame, Raised, frames_in
from pitstop.diagnosis.wording import read_table

Place = Literal[
    "restoring",
    "restoring_inside",
    "saving",
    "importing",
    "input",
    "download",
    "processes",
    "model",
    "shapes",
    "saving_in_fit",
    "producing",
    "unseen",
    "reading",
]
"""Loading saved weights; deep in a library that loads them; saving; importing a package;
reading data; downloading; talking to processes of its own; computing; comparing shapes;
writing a file while a model is fitted, which callbacks do; functions of
the script that produce data, as libraries call them; no frame of the script is known;
reading a table."""

_TABLE = read_table(Path(__file__).with_name("places.toml"))


def _patterns(kind: str) -> Mapping[Place, re.Pattern[str]]:
    return {
        cast("Place", place): re.compile(row[kind]) for place, row in _TABLE.items() if kind in row
    }


_FUNCTIONS, _FILES = _patterns("functions"), _patterns("files")
_CALLS = re.compile(r"(\w+)\(")
_FITS = re.compile(r"\.fit(?:_generator)?\(")
_OPENS_TO_WRITE = re.compile(r"\bopen\([^;]*[\"'][wax][bt+]*[\"'][^;]*$")
_KERAS_FILES = re.compile(r"keras/.*utils/file_utils\.py")
_IMPORT = re.compile(r"^(?:import|from) [^;]*$")


def places_of(raised: Raised) -> frozenset[Place]:
    # Keras and AutoGraph put frames into the message, too.
    is_told = raised.message.startswith("in user code:")
    told = frames_in(raised.message.splitlines()) if is_told else ()
    found = {place for frame in (*raised.frames, *told) for place in _places(frame)}
    if _is_importing(raised.frames):
        found.add("importing")
    fits = any(_FITS.search(frame.code) for frame in raised.frames if not frame.is_library)
    inner = raised.frames[-1] if raised.frames else None
    # Keras takes the frames of its callbacks out of tracebacks.
    if fits and inner and ("saving" in found or _KERAS_FILES.search(inner.posix_path)):
        found |= {"saving", "saving_in_fit"}
    if all(frame.is_library for frame in raised.frames):
        found.add("unseen")
    if _is_restoring_inside(raised.frames):
        found.add("restoring_inside")
    return frozenset(found)


def _places(frame: Frame) -> list[Place]:
    # Keras takes its own frames out of tracebacks; the call of the user tells the same.
    functions = [frame.function.rpartition(".")[2], *_CALLS.findall(frame.code)]
    found = [place for place, pattern in _FUNCTIONS.items() if any(map(pattern.match, functions))]
    found += [place for place, pattern in _FILES.items() if pattern.search(frame.posix_path)]
    return [*found, "saving"] if _OPENS_TO_WRITE.search(frame.code) else found


def _is_restoring_inside(frames: tuple[Frame, ...]) -> bool:
    """The user's call to load something saved, and below it libraries only."""
    own = [i for i, frame in enumerate(frames) if not frame.is_library]
    below = frames[own[-1] + 1 :] if own else ()
    return bool(below) and "restoring" in {*_places(frames[own[-1]]), *_places(below[0])}


def _is_importing(frames: tuple[Frame, ...]) -> bool:
    """A package failed while it was loaded: all below the script's last import is libraries'."""
    imports = [i for i, each in enumerate(frames) if _IMPORT.match(each.code)]
    own = [i for i in imports if not frames[i].is_library] or imports[:1]
    below = frames[own[-1] + 1 :] if own else ()
    return bool(below) and all(frame.is_library for frame in below)
