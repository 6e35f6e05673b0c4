"""What the command line asks of a live run."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import replace

from pitstop.errors import PeerClosed
from pitstop.events import (
    CheckpointCommitted,
    CheckpointFailed,
    Event,
    MemberReleased,
    RoleTaken,
    StopRequested,
)
from pitstop.link.messages import (
    CheckpointAnswer,
    ClientRequest,
    Message,
    Refusal,
    ReleaseAnswer,
    RoleReport,
    StatusAnswer,
)
from pitstop.link.wire import Connection
from pitstop.machine.own_process import is_suspended
from pitstop.record import record
from pitstop.supervisor.control.control_socket import Peer, peer_of
from pitstop.supervisor.lifecycle.occurrences import (
    CheckpointAsked,
    Occurrence,
    RoleAsked,
    StatusAsked,
    StopAsked,
)
from pitstop.supervisor.processes import family
from pitstop.supervisor.status.status import SUSPENDED, Status

_NOTHING_TO_SAVE = "No Keras training is under way in this run, so there is nothing to save."
_BEING_NAMED = "Another checkpoint is just being given a name. Try again."


def stop_request(peer: Peer, sender_command: str, request: ClientRequest) -> StopRequested:
    return StopRequested(
        source="script" if request.source == "script" else "command",
        urgency="now" if request.now else "graceful",
        sender_pid=peer.pid,
        sender_uid=peer.uid,
        sender_command=sender_command,
        reason=request.reason,
    )


@record
class _Waiting:
    """What a client waits for: a checkpoint of this step or a later one, of this name if any."""

    step: int
    name: str

    def is_served_by(self, event: CheckpointCommitted) -> bool:
        return self.step <= event.step and self.name in ("", event.name)


class RequestDesk:
    """Answers requests; some wait for a checkpoint, some for the end of the run.

    `has_released`: a process was told that the training is over for it.
    """

    def __init__(self) -> None:
        self._waiting: dict[Connection, _Waiting] = {}
        self._servers: list[Connection] = []
        self._release: ReleaseAnswer | None = None
        self.has_released = False

    def serve(self, connection: Connection, request: ClientRequest) -> tuple[Occurrence, ...]:
        """What one request asks for; what cannot be done is answered here."""
        peer = peer_of(connection)
        match request.command:
            case "status":
                return (StatusAsked(connection),)
            case "stop":
                event = stop_request(peer, family.command_of(peer.pid), request)
                return StopAsked(event), StatusAsked(connection)
            case "checkpoint":
                return self._checkpoint(connection, request.name)
            case other:
                _reply(connection, Refusal(f"This version knows no request {other!r}."))
                return ()

    def take_role(self, connection: Connection, report: RoleReport) -> tuple[Occurrence, ...]:
        role = RoleTaken(report.role, peer_of(connection).pid, report.task)
        return RoleAsked(role, report.cluster), StatusAsked(connection)

    def await_release(self, connection: Connection) -> None:
        """A process that Pitstop does not save waits until the training is over for it."""
        if self._release is not None:
            _reply(connection, self._release)
        else:
            self._servers.append(connection)

    def tell_status(self, asked: StatusAsked, status: Status) -> None:
        if status.state == "running" and status.pid and is_suspended(status.pid):
            status = replace(status, state=SUSPENDED)
        _reply(asked.connection, StatusAnswer(status.to_json()))

    def await_checkpoint(self, asked: CheckpointAsked, step: int | None) -> None:
        """Has a client wait for a checkpoint of this step or a later one; None: nobody trains."""
        if step is None:
            _reply(asked.connection, Refusal(_NOTHING_TO_SAVE))
        else:
            self._waiting[asked.connection] = _Waiting(step, asked.name)

    def recorded(self, event: Event) -> None:
        """Tells those that wait for a checkpoint, or for the end of the training."""
        if isinstance(event, CheckpointCommitted):
            answer = CheckpointAnswer(event.path, event.step)
            self._answer(answer, lambda waiting: waiting.is_served_by(event))
        elif isinstance(event, CheckpointFailed):
            self._answer(Refusal(f"{event.error} {event.remedy}".strip()), lambda _: True)
        elif isinstance(event, MemberReleased):
            self.release(event.exit_code)

    @property
    def has_servers(self) -> bool:
        return bool(self._servers)

    def release(self, exit_code: int) -> bool:
        """Whether processes were waiting to be told that the training is over for them."""
        self._release = ReleaseAnswer(exit_code)
        waited, self._servers = self._servers, []
        for server in waited:
            _reply(server, self._release)
        self.has_released |= bool(waited)
        return bool(waited)

    def forget(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)
        self._servers = [server for server in self._servers if server is not connection]

    def _answer(self, answer: Message, concerns: Callable[[_Waiting], bool]) -> None:
        for connection, waiting in list(self._waiting.items()):
            if concerns(waiting):
                _reply(connection, answer)
                del self._waiting[connection]

    def _checkpoint(self, connection: Connection, name: str) -> tuple[Occurrence, ...]:
        if name and any(waiting.name not in ("", name) for waiting in self._waiting.values()):
            _reply(connection, Refusal(_BEING_NAMED))
            return ()
        return (CheckpointAsked(connection, name),)


def _reply(connection: Connection, answer: Message) -> None:
    with contextlib.suppress(PeerClosed):
        connection.send(answer)
