"""What a `keras.callbacks.TensorBoard` writes to."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pitstop.keras.packages import kinds

WRITERS = frozenset({"_writers", "_prev_summary_state"})
"""Attributes of a TensorBoard callback, the same in both packages: it makes them again itself."""


def is_tensorboard(callback: Any) -> bool:
    return isinstance(callback, kinds("callbacks.TensorBoard"))


def _folders(callbacks: Iterable[Any]) -> list[str]:
    own = filter(is_tensorboard, callbacks)
    return [folder for each in own for folder in (each._train_dir, each._val_dir)]


def absolute_folders(callbacks: Iterable[Any]) -> list[Path]:
    """Where all of them write; what a state says of files holds for these alone."""
    return [Path(each).absolute() for each in _folders(callbacks)]


def log_folder(callbacks: Iterable[Any]) -> str:
    local = (each for each in _folders(callbacks) if "://" not in each)
    return next((str(Path(each).absolute().parent) for each in local), "")
