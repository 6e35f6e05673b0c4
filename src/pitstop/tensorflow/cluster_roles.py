"""Notices what part a process takes in a cluster.  Public names of TensorFlow only."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf


def watch(take: Callable[[str], None]) -> None:
    """Calls `take` with the role, see `events.RoleTaken`, just before a process takes it.

    A class that this version of TensorFlow lacks is nobody's part.
    """
    for path, method, role in (
        ("distribute.Server", "__init__", "member"),
        ("distribute.Server", "join", "server"),
        ("data.experimental.service.DispatchServer", "join", "server"),
        ("data.experimental.service.WorkerServer", "join", "server"),
        ("distribute.coordinator.ClusterCoordinator", "__init__", "coordinator"),
        ("compat.v1.train.MonitoredSession", "__init__", "monitored_session"),
        ("compat.v1.train.SingularMonitoredSession", "__init__", "monitored_session"),
    ):
        owner: Any = tf
        for name in path.split("."):
            owner = getattr(owner, name, None)
        if owner is not None:
            original = getattr(owner, method)
            setattr(owner, method, _telling(original, functools.partial(take, role)))


def _telling(original: Callable[..., Any], tell: Callable[[], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def call(*args: Any, **kwargs: Any) -> Any:
        tell()
        return original(*args, **kwargs)

    return call
