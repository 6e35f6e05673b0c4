"""Folders that the script makes: one named by the time or by chance is another one each time."""

import contextlib
import functools
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from pitstop.engine.audit_events import subscribe
from pitstop.engine.program import STDIN, TEXT, is_installed, is_of_program, is_own_file

FOLDERS_FILE = "folders.jsonl"
"""Its name in the folder of an attempt: the folders that the script has made, one in each line."""
_MOST_FOLDERS = 64
# It gives its shared memory and temporary folders names by chance.
_MULTIPROCESSING = f"{os.sep}multiprocessing{os.sep}"
_LIBRARY = (str(Path(os.__file__).parent) + os.sep, "<")
_CHANCE = re.compile(
    r"(?<=tmp)[a-z0-9_]{8}"
    r"|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|\d{8}[-_T]?\d{4,6}(?!\d)|\d{9,}|\d{2,4}(?:[-_.:T ]\d{2}){2,}"
    r"|(?=\d*[a-f])[0-9a-f]{6,}"
)
"""Parts of a name that differ each time: from `tempfile`, a UUID, a time, or a part of a digest.

A short number is no such part: `trial-1` and `trial-2` are two things.
"""
_NUMBER = re.compile(r"\d+")


class MadeFolders:
    def __init__(self) -> None:
        self.paths: list[str] = []
        self.followed: dict[str, str] = {}  # by folder of an earlier attempt, the one of this
        self._file: Path | None = None
        self._earlier: set[str] = set()

    @property
    def of_run(self) -> list[str]:
        """Those of this attempt and of earlier ones."""
        return [*self._earlier, *self.paths]

    def watch(self, attempt_dir: Path | None = None) -> None:
        if attempt_dir is not None:
            self._file = attempt_dir / FOLDERS_FILE
            # Those that the script made in earlier attempts of the run.
            for file in attempt_dir.parent.glob(f"*/{FOLDERS_FILE}"):
                with contextlib.suppress(OSError, ValueError):
                    self._earlier.update(map(json.loads, file.read_text().splitlines()))
        if self._earlier:
            os.mkdir = self.made_again(os.mkdir)
        subscribe(("os.mkdir",), self._on_event)

    def made_again(self, original: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(original)
        def mkdir(path: Any, *arguments: Any, **options: Any) -> None:
            if not self._is_of_earlier(path, sys._getframe(1)):
                original(path, *arguments, **options)

        return mkdir

    def _is_of_earlier(self, path: Any, caller: types.FrameType) -> bool:
        if not isinstance(path, str | os.PathLike) or script_frame(caller) is None:
            return False
        folder = Path(path).absolute()
        if str(folder) not in self._earlier or not folder.is_dir():
            return False
        self._earlier.discard(str(folder))
        self._note(folder)
        return True

    def _on_event(self, _: str, arguments: tuple[Any, ...], frame: types.FrameType | None) -> None:
        path, _mode, folder_fd = arguments
        if frame is not None and frame.f_globals is globals():
            # The frame of `made_again`: the one that called it counts.
            frame = frame.f_back
        if isinstance(path, str) and folder_fd == -1 and script_frame(frame):
            self._note(Path(path).absolute())

    def _note(self, folder: Path) -> None:
        if len(self.paths) >= _MOST_FOLDERS:
            return
        if str(folder) not in self.paths:
            self.paths.append(str(folder))
        # One that is there was made by somebody else, and making it fails.
        if self._file is not None and not folder.exists():
            with contextlib.suppress(OSError), self._file.open("a") as file:
                file.write(json.dumps(str(folder)) + "\n")


MADE = MadeFolders()  # of this process


def script_frame(frame: types.FrameType | None) -> types.FrameType | None:
    """The frame of the script that asks, also through the standard library; None for others."""
    while frame is not None:
        file = frame.f_code.co_filename
        if is_own_file(file):
            return None
        if is_of_program(file):
            return frame
        if is_installed(file) or _MULTIPROCESSING in file:
            return None
        is_text = file in (TEXT, STDIN) and frame.f_globals.get("__name__") == "__main__"
        if is_text or not file.startswith(_LIBRARY):
            return frame
        frame = frame.f_back
    return None


def is_moved(now: Any, before: Any) -> bool:
    """Whether two paths differ in time or chance only, and the folder of `before` exists.

    Or in the folder, if the files of the one were copied to the other.
    """
    if not isinstance(now, str | Path) or type(now) is not type(before) or now == before:
        return False
    now, before = str(now), str(before)
    is_alike = _form(now) == _form(before) or os.path.abspath(now) == _followed(before)  # noqa: PTH100
    return os.sep in now and is_alike and Path(before).parent.is_dir()


def _followed(path: str) -> str:
    """Where a file is that was in a folder whose files were copied; else empty."""
    path = os.path.abspath(path)  # noqa: PTH100
    pairs = MADE.followed.items()
    return next((new + path[len(old) :] for old, new in pairs if path.startswith(old + os.sep)), "")


def moved(before: Iterable[str], now: Iterable[str]) -> list[tuple[Path, Path]]:
    """Pairs of an old and a new folder, in order; their names differ in time or chance only.  Pure.

    Or in their numbers, where the new ones got the next free numbers.
    """
    old_paths, new_paths = list(map(Path, before)), list(map(Path, now))
    old, new = (_by_form(each, _form) for each in (old_paths, new_paths))
    pairs: list[tuple[Path, Path]] = []
    for form in old.keys() & new.keys():
        others = [each for each in new[form] if each not in old_paths]
        left = [each for each in old[form] if each not in new_paths]
        pairs += zip(left, others, strict=False)
    old, new = (_by_form(each, without_numbers) for each in (old_paths, new_paths))
    for form in old.keys() & new.keys():
        # A sweep that makes a folder again goes on with its trials.
        is_numbered = len(old[form]) == len(new[form]) and not {*old[form]} & {*new[form]}
        pairs += zip(old[form], new[form], strict=True) if is_numbered else ()
    return sorted(dict(pairs).items(), key=lambda pair: old_paths.index(pair[0]))


def _by_form(
    paths: Iterable[Path], form_of: Callable[[str], str]
) -> dict[tuple[Path, str], list[Path]]:
    found: dict[tuple[Path, str], list[Path]] = {}
    for path in paths:
        found.setdefault((path.parent, form_of(path.name)), []).append(path)
    return found


def alike(path: str) -> Iterator[str]:
    """Other files of the same folder whose names differ in time or chance only."""
    folder, name = os.path.split(os.path.abspath(path))  # noqa: PTH100
    form = _form(name)
    if form == name or not os.path.isdir(folder):  # noqa: PTH112
        return
    for other in os.listdir(folder):  # noqa: PTH208
        if other != name and _form(other) == form:
            yield os.path.join(folder, other)  # noqa: PTH118


def _form(text: str) -> str:
    return _CHANCE.sub("0", text)


def without_numbers(text: str) -> str:
    return _NUMBER.sub("0", _form(text))
