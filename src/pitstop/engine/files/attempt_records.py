"""The records of files that each attempt writes into its folder, and later attempts read."""

from pathlib import Path

from pitstop.engine.files import path_record
from pitstop.engine.files.appended_files import APPENDED
from pitstop.engine.files.renamed_files import RENAMED


def watch(attempt_dir: Path | None) -> None:
    """Records from now on; without a folder, only what this process appends is known."""
    APPENDED.watch(attempt_dir)
    path_record.watch(attempt_dir)
    RENAMED.watch(attempt_dir)
