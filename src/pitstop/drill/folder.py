"""The folder of a drill: one run folder per trial, and what was found."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import RunFolderInvalid, RunFolderUnwritable
from pitstop.store.disk_fault import explained

RESULT_FILE = "drill.json"
UNINTERRUPTED = "uninterrupted"
REPETITION = "uninterrupted-again"
_WORK_DIR = "work"


@dataclass(frozen=True)
class DrillFolder:
    """The place of one drill."""

    path: Path

    def run_dir(self, name: str) -> Path:
        return self.path / name

    def log(self, name: str) -> Path:
        return self.path / f"{name}.log"

    def work_dir(self, name: str, files: Iterable[str], source: Path) -> Path:
        """A working folder for a trial, with copies of these files of another folder.

        Raises `RunFolderUnwritable` where the disk refuses.
        """
        path = self.path / _WORK_DIR / name
        with _writing(self.path):
            path.mkdir(parents=True)
            for file in files:
                (path / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / file, path / file)
        return path

    def save(self, result: str) -> None:
        """Writes what was found; `RunFolderUnwritable` where the disk refuses."""
        with _writing(self.path):
            (self.path / RESULT_FILE).write_text(result, encoding="utf-8")


def make_folder(path: Path) -> DrillFolder:
    """An empty folder for a drill; an earlier drill in it is removed.

    Raises `RunFolderUnwritable`, or `RunFolderInvalid` where something else is there.
    """
    with _writing(path):
        if path.exists() and not path.is_dir():
            raise RunFolderInvalid(f"{path} is a file.", "Give a folder with --run-dir.")
        if path.exists() and any(path.iterdir()):
            if not (path / RESULT_FILE).is_file():
                raise RunFolderInvalid(
                    f"{path} contains other files but no {RESULT_FILE}.",
                    "Give an empty or new folder with --run-dir.",
                )
            shutil.rmtree(path)
        path.mkdir(parents=True, exist_ok=True)
        # From now on it is known as a drill's, also when this one is cut short.
        (path / RESULT_FILE).write_text("{}\n", encoding="utf-8")
    return DrillFolder(path)


def _writing(path: Path) -> AbstractContextManager[None]:
    return explained(f"The drill's folder {path} cannot be written", RunFolderUnwritable)
