"""Tells the run what part this process has in a cluster, and waits for its end."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from pitstop.cluster.spec import EVALUATOR, own_cluster, own_task
from pitstop.engine.fence import observing
from pitstop.engine.request import request
from pitstop.link.messages import ReleaseAnswer, ReleaseRequest, RoleReport

# A forked process has a part of its own.
_told: set[tuple[int, str]] = set()


@observing()
def take(socket_path: str, role: str, cluster: Mapping[str, Any], task: str) -> None:
    """This process takes a role, see `events.RoleTaken`; told once, before it begins.

    Args:
        socket_path: where the supervisor listens.
        role: the part.
        cluster: all tasks, see `cluster.spec`; empty for what TF_CONFIG says.
        task: which of them this process is; empty for the same.
    """
    # Who evaluates opens sessions for it, and trains in none.
    if _told.isdisjoint({(os.getpid(), role), (os.getpid(), EVALUATOR)}):
        _told.add((os.getpid(), role))
        own = task or str(own_task(os.environ) or "")
        known = cluster or own_cluster(os.environ)
        request(socket_path, RoleReport(role, own, dict(known)))


def serve(socket_path: str, *, waits: bool = True) -> int | None:
    """Waits, as a server, until the training is over for this process; or asks whether it is.

    Returns:
        The exit code that it ends with, None where nobody can tell, or it is not over.
    """
    answer = request(socket_path, ReleaseRequest(waits))
    return answer.exit_code if isinstance(answer, ReleaseAnswer) else None
