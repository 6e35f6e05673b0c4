"""The folders that the script's callbacks name.

What a state says of files holds for these alone: a state may come from anybody who can write the
run's folder or its mirror.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pitstop.keras import tensorboard


def event_folders(callbacks: Iterable[Any]) -> frozenset[Path]:
    """Where the TensorBoard callbacks write, absolute."""
    named = (each for callback in callbacks for each in tensorboard.folders(callback))
    return frozenset(Path(each).absolute() for each in named)
