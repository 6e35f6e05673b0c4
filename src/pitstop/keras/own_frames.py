"""Frames of Pitstop in the user's tracebacks: Keras' filter leaves them out like its own."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def leave_out_own_frames(traceback_utils: Any) -> None:
    """Names our folder to the filter.

    Args:
        traceback_utils: Keras' module of this name.
    """
    folder = str(Path(__file__).parents[1])
    traceback_utils._EXCLUDED_PATHS = (*traceback_utils._EXCLUDED_PATHS, folder)
