"""Tells the run what part this process has in a cluster, and waits for its end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pitstop.cluster.spec import own_task
from pitstop.engine.fence import observing
from pitstop.engine.request import request
from pitstop.errors import PeerClosed
from pitstop.link.messages import ReleaseAnswer, RoleReport
from pitstop.link.wire import Connection

# A forked process has a part of its own.
_told: set[tuple[int, str]] = set()


@observing()
def take(socket_path: str, role: str, cluster: Mapping[str, Any], task: str) -> None:
    """This process takes a role, see `events.RoleTaken`; told once, before it begins.

    Args:
        socket_path: where the supervisor listens.
        role: the part.
        cluster: all tasks, see `cluster.spec`; empty where it is not known.
        task: which of them this process is; empty for what TF_CONFIG says.
    """
    if (os.getpid(), role) not in _told:
        _told.add((os.getpid(), role))
        request(socket_path, _report(role, cluster, task))


def serve(socket_path: str, cluster: Mapping[str, Any], task: str) -> int | None:
    """Waits, as a server, until the training is over for this process.

    Returns:
        The exit code that it ends with, None where nobody can tell.
    """
    try:
        connection = Connection.connect(socket_path)
    except PeerClosed:
        return None
    try:
        connection.send(_report("server", cluster, task))
        answer = connection.receive().message
    except PeerClosed:
        return None
    finally:
        connection.close()
    return answer.exit_code if isinstance(answer, ReleaseAnswer) else None


def _report(role: str, cluster: Mapping[str, Any], task: str) -> RoleReport:
    return RoleReport(role, task or str(own_task(os.environ) or ""), dict(cluster))
