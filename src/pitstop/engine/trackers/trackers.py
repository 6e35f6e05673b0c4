"""Runs of experiment trackers: a resumed script goes on with them, and each row is in them once.

A tracker's run is known by the entropy of ours, and rows that it has already are left out.
"""

import functools
import importlib
import os
import sys
from collections.abc import Callable, Mapping
from typing import Any

from pitstop.engine.fence import fenced, observing

_TRACKERS = {
    "wandb": ("wandb.sdk.wandb_init", "pitstop.engine.trackers.wandb_runs"),
    "mlflow": ("mlflow.tracking._tracking_service.client", "pitstop.engine.trackers.mlflow_runs"),
}
"""By name: the module of the tracker that is waited for, and ours."""


def watched() -> dict[str, Callable[[], None]]:
    """By module: what is to be done when it has been imported; nothing in a drill."""
    # Its trainings have one entropy, and are not one run.
    if os.environ.get("PITSTOP_DRILL"):
        return {}
    return {theirs: functools.partial(_watch, ours) for theirs, ours in _TRACKERS.values()}


@observing()
def _watch(ours: str) -> None:
    importlib.import_module(ours).watch()


def capture() -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, (_, ours) in _TRACKERS.items():
        if ours in sys.modules:
            with fenced():
                found[name] = sys.modules[ours].capture()
    return found


@observing()
def restore(saved: Mapping[str, Any]) -> None:
    for name, (_, ours) in _TRACKERS.items():
        if ours in sys.modules:
            sys.modules[ours].restore(saved.get(name, {}))
