"""The files that a `fit` has written: saved with its outcome, given back where it is left out."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from pitstop.engine.fence import observing
from pitstop.engine.files.earlier_files import EARLIER
from pitstop.engine.files.output_files import OUTPUTS
from pitstop.engine.snapshots.saved_state import SavedState


def capture(run: Any) -> dict[str, Any]:
    found = OUTPUTS.capture(_named(run)) if _is_alone(run) else {}
    return {path: np.frombuffer(content, np.uint8) for path, content in found.items()}


@observing()
def begin(run: Any, *, continues: bool) -> None:
    if _is_alone(run):
        for path in OUTPUTS.begin(_named(run), continues=continues):
            EARLIER.put_back(path)


@observing()
def give_back(run: Any, saved: SavedState) -> None:
    if _is_alone(run):
        ended_seconds = saved.state["time_seconds"]
        for path in OUTPUTS.give_back(saved.outputs, ended_seconds, _named(run)):
            EARLIER.put_back(path)


def _named(run: Any) -> list[str]:
    """Texts in attributes of callbacks, which may be paths that they write to."""
    held = [value for each in run.listed_callbacks() for value in vars(each).values()]
    return [os.fspath(each) for each in held if isinstance(each, str | Path)]


def _is_alone(run: Any) -> bool:
    """Whether the files are its own: not of workers that train together, nor of a look."""
    settings = run.session.settings
    is_together = run.session.snapshots.lockstep.agreed
    return not (is_together or settings.looks_only or settings.export_to)
