"""Tells the run what part this process has in a cluster."""

from __future__ import annotations

import os

from pitstop.engine import gang
from pitstop.engine.fence import observing
from pitstop.engine.request import request
from pitstop.link.messages import ClientRequest

# A forked process has a part of its own.
_told: set[tuple[int, str]] = set()


@observing()
def take(socket_path: str, role: str) -> None:
    """This process takes a role, see `events.RoleTaken`; told once, before it begins."""
    if (os.getpid(), role) not in _told:
        _told.add((os.getpid(), role))
        task = gang.task(os.environ)
        request(socket_path, ClientRequest("role", name=role, reason=task))
