"""Requests to the supervisor from a process that need not train: its part in a cluster, its end."""

import os
from collections.abc import Mapping
from typing import Any

from pitstop.cluster.spec import EVALUATOR, own_cluster, own_task
from pitstop.engine.fence import observing
from pitstop.errors import PeerFault
from pitstop.link import messages
from pitstop.link.wire import Connection


def request(socket_path: str, body: messages.Message) -> messages.Message | None:
    try:
        connection = Connection.connect(socket_path)
    except PeerFault:
        return None
    try:
        connection.send(body)
        return connection.receive().message
    except PeerFault:
        return None
    finally:
        connection.close()


def reason_of(answer: messages.Message) -> str:
    match answer:
        case (
            messages.Refusal(reason)
            | messages.MalformedMessage(reason)
            | messages.NoImage(_, reason)
        ):
            return reason
        case _:
            return f"it answered {answer.type}"


# A forked process has a part of its own.
_told: set[tuple[int, str]] = set()


@observing()
def take(socket_path: str, role: str, cluster: Mapping[str, Any], task: str) -> None:
    """This process takes a role, see `events.RoleTaken`; without a `cluster`, as TF_CONFIG says."""
    # An evaluator opens sessions to evaluate, and trains in none.
    if _told.isdisjoint({(os.getpid(), role), (os.getpid(), EVALUATOR)}):
        _told.add((os.getpid(), role))
        own = task or str(own_task(os.environ) or "")
        known = cluster or own_cluster(os.environ)
        request(socket_path, messages.RoleReport(role, own, dict(known)))


def serve(socket_path: str, *, waits: bool = True) -> int | None:
    """The exit code of a server, None while the training goes on or where nobody tells."""
    answer = request(socket_path, messages.ReleaseRequest(waits))
    return answer.exit_code if isinstance(answer, messages.ReleaseAnswer) else None
