"""The folder of a drill: one run folder per trial, and what was found."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from pitstop.errors import RunFolderInvalid, RunFolderUnwritable
from pitstop.store.disk_fault import explain

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
        """The file for what the attempts of a trial print."""
        return self.path / f"{name}.log"

    def work_dir(self, name: str, files: Iterable[str], source: Path) -> Path:
        """A working folder for a trial, with copies of these files of another folder.

        Raises:
            RunFolderUnwritable: the disk refused.
        """
        path = self.path / _WORK_DIR / name
        try:
            path.mkdir(parents=True)
            for file in files:
                (path / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(source / file, path / file)
        except OSError as error:
            raise _unwritable(self.path, error) from error
        return path

    def save(self, result: str) -> None:
        """Writes what was found.

        Raises:
            RunFolderUnwritable: the disk refused.
        """
        try:
            (self.path / RESULT_FILE).write_text(result, encoding="utf-8")
        except OSError as error:
            raise _unwritable(self.path, error) from error


def make_folder(path: Path) -> DrillFolder:
    """An empty folder for a drill; an earlier drill in it is removed.

    Raises:
        RunFolderInvalid: something else is there.
        RunFolderUnwritable: the disk refused.
    """
    try:
        if path.exists() and not path.is_dir():
            raise RunFolderInvalid(f"{path} is a file.", "Name a folder with --run-dir.")
        if path.exists() and any(path.iterdir()):
            _remove_drill(path)
        path.mkdir(parents=True, exist_ok=True)
        # From now on it is known as a drill's, also when this one is cut short.
        (path / RESULT_FILE).write_text("{}\n", encoding="utf-8")
    except OSError as error:
        raise _unwritable(path, error) from error
    return DrillFolder(path)


def _remove_drill(path: Path) -> None:
    if not (path / RESULT_FILE).is_file():
        raise RunFolderInvalid(
            f"{path} holds other files, and no {RESULT_FILE}.",
            "Name an empty or a new folder with --run-dir.",
        )
    shutil.rmtree(path)


def _unwritable(path: Path, error: OSError) -> RunFolderUnwritable:
    fault = explain(error)
    return RunFolderUnwritable(
        f"The drill's folder {path} cannot be written: {fault.cause}.", fault.remedy
    )
