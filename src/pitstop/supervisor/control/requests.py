"""What the command line asks of a live run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass, replace

from pitstop.errors import PeerClosed
from pitstop.events import CheckpointCommitted, CheckpointFailed, RoleTaken, StopRequested
from pitstop.link.messages import CheckpointAnswer, ClientRequest, Message, Refusal, StatusAnswer
from pitstop.link.wire import Connection
from pitstop.machine.own_process import is_suspended
from pitstop.supervisor.control.control_socket import Peer, peer_of
from pitstop.supervisor.processes import family
from pitstop.supervisor.status.status import SUSPENDED, Status

_NOTHING_TO_SAVE = "No Keras training is under way in this run, so there is nothing to save."
_BEING_NAMED = "Another checkpoint is just being given a name. Try again."


@dataclass(frozen=True)
class RequestHandlers:
    """What the supervision offers to the command line.

    `role` hears of a process that has a part in a cluster.
    `checkpoint` asks the trainer for one with this name, which may be empty, and
    returns the step it had completed then, None when nobody trains.
    """

    status: Callable[[], Status]
    stop: Callable[[StopRequested], None]
    checkpoint: Callable[[str], int | None]
    role: Callable[[RoleTaken], None] = lambda _: None


def stop_request(peer: Peer, sender_command: str, request: ClientRequest) -> StopRequested:
    """The event of a `pitstop stop`, or of a script that asks for itself."""
    return StopRequested(
        source="script" if request.source == "script" else "command",
        urgency="now" if request.now else "graceful",
        sender_pid=peer.pid,
        sender_uid=peer.uid,
        sender_command=sender_command,
        reason=request.reason,
    )


@dataclass(frozen=True)
class _Waiting:
    """What a client waits for: a checkpoint of this step or a later one, of this name if any."""

    step: int
    name: str

    def is_served_by(self, event: CheckpointCommitted) -> bool:
        return self.step <= event.step and self.name in ("", event.name)


class RequestDesk:
    """Answers requests; some wait for a checkpoint, some for the end of the run."""

    def __init__(self, handlers: RequestHandlers) -> None:
        self._handlers = handlers
        self._waiting: dict[Connection, _Waiting] = {}

    def serve(self, connection: Connection, request: ClientRequest) -> None:
        """Answers one request."""
        match request.command:
            case "status":
                _reply(connection, self._status())
            case "stop":
                self._stop(connection, request)
            case "checkpoint":
                self._checkpoint(connection, request.name)
            case "role":
                pid = peer_of(connection).pid
                self._handlers.role(RoleTaken(request.name, pid, request.reason))
                _reply(connection, self._status())
            case other:
                _reply(connection, Refusal(f"This version knows no request {other!r}."))

    def saved(self, event: CheckpointCommitted) -> None:
        """Tells those that wait for a checkpoint of this step or an earlier one."""
        answer = CheckpointAnswer(event.path, event.step)
        self._answer(answer, lambda waiting: waiting.is_served_by(event))

    def not_saved(self, event: CheckpointFailed) -> None:
        """Tells all that wait for a checkpoint that there will be none."""
        self._answer(Refusal(f"{event.error} {event.remedy}".strip()), lambda _: True)

    def forget(self, connection: Connection) -> None:
        """A client has gone."""
        self._waiting.pop(connection, None)

    def _answer(self, answer: Message, concerns: Callable[[_Waiting], bool]) -> None:
        for connection, waiting in list(self._waiting.items()):
            if concerns(waiting):
                _reply(connection, answer)
                del self._waiting[connection]

    def _status(self) -> StatusAnswer:
        now = self._handlers.status()
        if now.state == "running" and now.pid and is_suspended(now.pid):
            now = replace(now, state=SUSPENDED)
        return StatusAnswer(now.to_json())

    def _stop(self, connection: Connection, request: ClientRequest) -> None:
        peer = peer_of(connection)
        self._handlers.stop(stop_request(peer, family.command_of(peer.pid), request))
        _reply(connection, self._status())

    def _checkpoint(self, connection: Connection, name: str) -> None:
        if name and any(waiting.name not in ("", name) for waiting in self._waiting.values()):
            _reply(connection, Refusal(_BEING_NAMED))
            return
        step = self._handlers.checkpoint(name)
        if step is None:
            _reply(connection, Refusal(_NOTHING_TO_SAVE))
        else:
            self._waiting[connection] = _Waiting(step, name)


def _reply(connection: Connection, answer: Message) -> None:
    with contextlib.suppress(PeerClosed):
        connection.send(answer)
