"""What a TensorBoard callback keeps under private names, which are the same in both packages."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pitstop.keras.packages import kinds

WRITERS = frozenset({"_writers", "_prev_summary_state"})
"""Its writers, and their contexts, which it makes again by itself."""


def is_tensorboard(callback: Any) -> bool:
    return isinstance(callback, kinds("callbacks.TensorBoard"))


def folders(callback: Any) -> list[str]:
    """Where it writes its event files; nothing for other callbacks."""
    return [callback._train_dir, callback._val_dir] if is_tensorboard(callback) else []


def absolute_folders(callbacks: Iterable[Any]) -> list[Path]:
    """Where all of them write.

    What a state says of files holds for these alone: a state may come from anybody who can write
    the run's folder or its mirror.
    """
    return [Path(each).absolute() for callback in callbacks for each in folders(callback)]


def flush(callback: Any) -> None:
    if is_tensorboard(callback):
        for writer in callback._writers.values():
            writer.flush()


def log_folder(callbacks: Iterable[Any]) -> str:
    """The local folder that one of the callbacks logs to, absolute; empty without one."""
    found = [folder for callback in callbacks for folder in folders(callback)]
    local = (str(Path(folder).absolute().parent) for folder in found if "://" not in folder)
    return next(local, "")
