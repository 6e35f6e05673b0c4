"""Files that a script looks at without opening them: whether they are there, how old, how many."""

import functools
import glob
import os
import re
import stat
import sys
import types
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from pitstop.engine.audit_events import Frame, subscribe
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.made_folders import script_frame

_T = TypeVar("_T")

_MOST_FILES = 4096
_GLOBBING = ("glob.py", "pathlib.py", f"pathlib{os.sep}_local.py")
_ASKING = ("genericpath.py", "<frozen genericpath>", *_GLOBBING[1:])
_ASKED_FOR = ("iterdir", "glob", "rglob", "iglob")
_WORD = re.compile(r"[^\s<>|;&()\"'=]+")


class FileLooks:
    def __init__(
        self, tell: Callable[[str, float], None], tell_pattern: Callable[[str], None]
    ) -> None:
        """`tell` gets a path, and when it was changed last, in seconds; 0 for what is not there."""
        self._tell, self._tell_pattern = tell, tell_pattern
        self._is_on = False
        self._asks_existence = False  # the present look tells only whether the file is there
        self._stat = os.stat
        self._fenced: Callable[..., None] = self._look

    def begin(self) -> None:
        # Loaded where a training runs; each Python process of a run loads this module.
        from pitstop.engine.fence import observing  # noqa: PLC0415

        self.end()
        subscribe(_LOOKS, self._on_event)
        self._fenced = observing()(self._look)
        self._is_on = True
        self._stat = os.stat
        os.stat = self.watching(os.stat, _by_name)
        for each in (os.supports_fd, os.supports_dir_fd, os.supports_follow_symlinks):
            each.add(os.stat)

    def end(self) -> None:
        self._is_on = False
        if getattr(os.stat, "__wrapped__", None) is self._stat:
            os.stat = self._stat

    def watching(
        self, original: Callable[..., _T], paths_of: Callable[[Any, _T], Iterable[Any]]
    ) -> Callable[..., _T]:
        """The same function; notes the paths that it looks at, which `paths_of` finds."""

        @functools.wraps(original)
        def look(path: Any, *arguments: Any, **options: Any) -> _T:
            is_told = self._is_on and script_frame(sys._getframe(1)) is not None
            try:
                found = original(path, *arguments, **options)
            except FileNotFoundError:
                if is_told and not isinstance(path, int):
                    with suppress(OSError):  # of a working directory that was removed
                        self._tell(os.fsdecode(path), 0.0)
                raise
            if is_told:
                self._asks_existence = _asks_existence(sys._getframe(1))
                self._fenced(paths_of, (path, found))
                self._asks_existence = False
            return found

        return look

    def is_for_header(self, path: str) -> bool:
        """Whether the script asks only if a table is there to which it appends again.

        A new one gets a header: what it appends tells whether it differs in anything else.
        """
        return self._asks_existence and APPENDED.repeats(path)

    def _on_event(self, event: str, arguments: tuple[Any, ...], frame: Frame) -> None:
        if self._is_on and frame is not None and _is_look(frame):
            paths_of, pattern_of = _LOOKS[event]
            self._fenced(paths_of, arguments)
            if pattern := pattern_of(*arguments):
                self._tell_pattern(pattern)

    def _look(self, paths_of: Callable[..., Iterable[Any]], arguments: tuple[Any, ...]) -> None:
        for path in islice(paths_of(*arguments), _MOST_FILES):
            with suppress(OSError, ValueError):
                found = os.stat(path)  # noqa: PTH116
                if stat.S_ISREG(found.st_mode):
                    self._tell(os.fsdecode(path), found.st_mtime)


def _asks_existence(frame: types.FrameType | None) -> bool:
    while frame is not None and frame.f_code.co_filename.endswith(_ASKING):
        if frame.f_code.co_name in ("exists", "isfile", "is_file"):
            return True
        frame = frame.f_back
    return False


def _by_name(path: Any, _: Any) -> Iterable[Any]:
    return () if isinstance(path, int) else (path,)


def _listed(folder: Any) -> Iterator[Any]:
    for name in () if isinstance(folder, int) else os.listdir(folder):  # noqa: PTH208
        yield os.path.join(folder or type(name)(), name)  # noqa: PTH118  in bytes too


def _matching(pattern: Any, recursive: bool, root_dir: Any, _: Any) -> Iterator[Any]:
    for name in glob.iglob(pattern, root_dir=root_dir, recursive=recursive):  # noqa: PTH207
        yield os.path.join(root_dir or type(name)(), name)  # noqa: PTH118


def _named(_: Any, words: Iterable[Any], folder: Any = None, __: Any = None) -> Iterator[str]:
    for word in map(os.fsdecode, words):
        for name in {word, *_WORD.findall(word)}:
            yield os.path.join(os.fsdecode(folder or ""), name)  # noqa: PTH118


def _all_in(folder: Any) -> str:
    return "" if isinstance(folder, int) else _pattern_in(folder, "*")


def _pattern_in(folder: Any, pattern: Any) -> str:
    return os.path.join(os.fsdecode(folder or ""), os.fsdecode(pattern))  # noqa: PTH118


_LOOKS: dict[str, tuple[Callable[..., Iterable[Any]], Callable[..., str]]] = {
    "os.listdir": (_listed, _all_in),
    "os.scandir": (_listed, _all_in),
    "glob.glob/2": (_matching, lambda pattern, _, folder, __: _pattern_in(folder, pattern)),
    "pathlib.Path.glob": (Path.glob, lambda folder, pattern: str(folder / pattern)),
    "pathlib.Path.rglob": (Path.rglob, lambda folder, pattern: str(folder / "**" / pattern)),
    "subprocess.Popen": (_named, lambda *_: ""),
    "os.system": (lambda command: _named(None, [command]), lambda _: ""),
}
"""For each audit event, the files that are looked at, and the pattern that is searched for."""


def _is_look(frame: types.FrameType) -> bool:
    file, function = frame.f_code.co_filename, frame.f_code.co_name
    is_of_pattern = file.endswith(_GLOBBING) and function not in _ASKED_FOR
    return not is_of_pattern and script_frame(frame) is not None
