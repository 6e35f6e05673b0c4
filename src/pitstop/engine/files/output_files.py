"""Files that a training has written, as they were at its end.

A later training may write to the same names: `best.weights.h5` in each fold. A resume gives them
back for each training that it does not run again, since the script may read them after it. What
the interrupted training had written is put aside until that training goes on.
"""

import contextlib
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from pitstop.engine.files import file_access

ASIDE = ".pitstop-interrupted"
WEIGHTS = (".index", ".keras", ".h5", ".hdf5", ".safetensors")
_MOST_FILES = 64
_MOST_BYTES = 1 << 30
_MEMORY_SHARE = 1 / 8  # of what is free


class OutputFiles:
    """The files that the running training has written; after a restore, those put back."""

    def __init__(self) -> None:
        self._written: dict[str, None] = {}
        self._given: set[str] = set()

    def note(self, path: str) -> None:
        """The training is about to write to it."""
        path = os.path.abspath(path)  # noqa: PTH100
        self._written.pop(path, None)
        self._written[path] = None
        if len(self._written) > _MOST_FILES:
            del self._written[next(iter(self._written))]

    def capture(self, named: Iterable[str]) -> dict[str, bytes]:
        """The content of what was written, and of weights that callbacks have `named`.

        An earlier attempt may have written the latter.
        """
        # Loaded where a training runs; each Python process of a run loads this module.
        from pitstop.machine.memory import available_bytes  # noqa: PLC0415

        left_bytes = min(_MOST_BYTES, int(_MEMORY_SHARE * available_bytes()))
        found = {}
        opened = file_access.opened()
        for path in dict.fromkeys([*_weights(named), *reversed(self._written)]):
            size_bytes = file_access.read(path, 0)[1]
            if 0 <= size_bytes <= left_bytes and os.path.realpath(path) not in opened:
                found[path] = file_access.read(path, size_bytes)[0]
                left_bytes -= size_bytes
        return found

    def give_back(
        self, contents: Mapping[str, bytes], changed_seconds: float, named: Iterable[str]
    ) -> list[Path]:
        """Restores files as they were when a training ended; returns those that it has written.

        Only files below the working directory, and those that callbacks have `named`.
        """
        allowed, opened = set(_weights(named)), file_access.opened()
        return [
            Path(path)
            for path, content in contents.items()
            if path in allowed or file_access.is_of_project(path)
            if os.path.realpath(path) not in opened
            if self._make(path, content, changed_seconds)
        ]

    def _make(self, path: str, content: bytes, changed_seconds: float) -> bool:
        if _holds(path, content):
            return False
        aside = _aside(path)
        with contextlib.suppress(OSError):
            if _holds(str(aside), content):
                aside.replace(path)
                return True
            if aside.exists():
                Path(path).unlink(missing_ok=True)
            elif Path(path).exists():
                Path(path).rename(aside)
            self._given.add(path)
            file_access.make(path, content, changed_seconds)
            return True
        return False

    def begin(self, named: Iterable[str], *, continues: bool) -> list[Path]:
        """Puts back the files that were put aside if their training `continues`, or removes them.

        Returns the paths of those that had been put aside.
        """
        self._written.clear()
        found = []
        for path in self._given.union(_weights(named)):
            with contextlib.suppress(OSError):
                if continues:
                    Path(path).parent.mkdir(parents=True, exist_ok=True)
                    _aside(path).replace(path)
                else:
                    _aside(path).unlink()
                found.append(Path(path))
        self._given.clear()
        return found


OUTPUTS = OutputFiles()  # of this process


def _aside(path: str) -> Path:
    """Where a file is put aside: outside of its folder, which the script may rename or remove."""
    folder = os.path.join(os.getcwd(), "")  # noqa: PTH109, PTH118
    relative = path.removeprefix(folder)
    return Path((path if relative == path else folder + relative.replace(os.sep, ".")) + ASIDE)


def _weights(named: Iterable[str]) -> list[str]:
    with contextlib.suppress(OSError):  # of a working directory that was removed
        return [os.path.abspath(path) for path in named if path.endswith(WEIGHTS)]  # noqa: PTH100
    return []


def _holds(path: str, content: bytes) -> bool:
    return file_access.read(path, len(content) + 1) == (content, len(content))
