"""The processes that connect to a live run's socket, and the requests of the command line."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from pitstop import events
from pitstop.errors import EnvironmentFault, PeerClosed
from pitstop.link import messages
from pitstop.link.wire import Connection, Received, close_all
from pitstop.machine.own_process import is_suspended
from pitstop.record import Frozen
from pitstop.supervisor.control.control_socket import ControlSocket, peer_of
from pitstop.supervisor.lifecycle import occurrences
from pitstop.supervisor.lifecycle.occurrences import EventLoop
from pitstop.supervisor.processes import family
from pitstop.supervisor.status import SUSPENDED, Status

_NOTHING_TO_SAVE = "There is nothing to save: no training that Pitstop can save is running."
_SAVED_BY_SCRIPT = "The script saves this training itself, now and then and when it is stopped."
_GOES_ON = "The training continues."
_BEING_NAMED = "Another named checkpoint is being saved. Try again."


class LeaderRequest(Frozen):
    """A request that was handed to the leader of the cluster; no event of this run answers it."""

    number: int


def _stop_request(connection: Connection, request: messages.ClientRequest) -> events.StopRequested:
    pid, uid = peer_of(connection)
    return events.StopRequested(
        source="script" if request.source == "script" else "command",
        urgency="now" if request.now else "graceful",
        sender_pid=pid,
        sender_uid=uid,
        sender_command=family.command_of(pid),
        reason=request.reason,
    )


class _Waiting(Frozen):
    """The checkpoint that a client waits for: of this step or a later one, or of the leader."""

    step: int | LeaderRequest
    name: str  # empty for any
    of_all: bool  # one that all members which train together have saved

    def is_served_by(self, event: events.CheckpointCommitted | events.GangSaved) -> bool:
        if isinstance(self.step, LeaderRequest) or self.step > event.step:
            return False
        return self.of_all == isinstance(event, events.GangSaved) and self.name in ("", event.name)


class RequestDesk:
    """Answers requests; some wait for a checkpoint, some for the end of the run."""

    def __init__(self) -> None:
        self._waiting: dict[occurrences.Asker, _Waiting] = {}
        self._servers: list[Connection] = []
        self._release: messages.ReleaseAnswer | None = None
        self._released_pid = 0  # 0 for all
        self.has_released = False  # a process was told that the training is over for it

    def serve(
        self, connection: Connection, request: messages.ClientRequest
    ) -> tuple[occurrences.Occurrence, ...]:
        match request.command:
            case "status":
                return (occurrences.StatusAsked(connection, request.of_all),)
            case "stop":
                asked = occurrences.StopAsked(_stop_request(connection, request))
                return asked, occurrences.StatusAsked(connection)
            case "stop_after_epoch":
                later = occurrences.StopAfterEpochAsked(_stop_request(connection, request))
                return later, occurrences.StatusAsked(connection)
            case "checkpoint":
                return self.checkpoint_asked(connection, request.name)
            case other:
                connection.tell(messages.Refusal(f"Unknown request for this version: {other!r}."))
                return ()

    def checkpoint_asked(
        self, asker: occurrences.Asker, name: str
    ) -> tuple[occurrences.Occurrence, ...]:
        others = (each.name for each in self._waiting.values() if each.name)
        if name and any(other != name for other in others):
            asker.tell(messages.Refusal(_BEING_NAMED))
            return ()
        return (occurrences.CheckpointAsked(asker, name),)

    def take_role(
        self, connection: Connection, report: messages.RoleReport
    ) -> tuple[occurrences.Occurrence, ...]:
        role = events.RoleTaken(report.role, peer_of(connection)[0], report.task)
        return occurrences.RoleAsked(role, report.cluster), occurrences.StatusAsked(connection)

    def await_release(self, connection: Connection, *, waits: bool = True) -> None:
        if self._release is not None and self._released_pid in (0, peer_of(connection)[0]):
            connection.tell(self._release)
        elif not waits:
            connection.tell(messages.Refusal(_GOES_ON))
        else:
            self._servers.append(connection)

    def tell_status(self, asked: occurrences.StatusAsked, status: Status) -> None:
        if status.state == "running" and status.pid and is_suspended(status.pid):
            status = replace(status, state=SUSPENDED)
        asked.connection.tell(messages.StatusAnswer(status.to_json()))

    def await_checkpoint(
        self,
        asked: occurrences.CheckpointAsked,
        step: int | LeaderRequest | None,
        *,
        of_all: bool = False,
        leader: str = "",
        by_script: bool = False,
    ) -> None:
        """`step`: the least step of the checkpoint, None if nobody trains; see `_Waiting`."""
        if step is None:
            saves = f" In this cluster, {leader} saves." if leader else ""
            reason = _SAVED_BY_SCRIPT if by_script else _NOTHING_TO_SAVE
            asked.connection.tell(messages.Refusal(f"{reason}{saves}"))
        else:
            self._waiting[asked.connection] = _Waiting(step, asked.name, of_all)

    def leader_answered(
        self, number: int, answer: messages.CheckpointAnswer | messages.Refusal
    ) -> bool:
        """Whether somebody waits for it.  Number 0: all whose requests were handed on."""

        def concerns(waiting: _Waiting) -> bool:
            asked = waiting.step
            return isinstance(asked, LeaderRequest) and number in (0, asked.number)

        return self._answer(answer, concerns)

    def recorded(self, event: events.Event) -> None:
        if isinstance(event, events.CheckpointCommitted | events.GangSaved):
            answer = messages.CheckpointAnswer(event.path, event.step)
            self._answer(answer, lambda waiting: waiting.is_served_by(event))
        elif isinstance(event, events.CheckpointFailed):
            self._answer(messages.Refusal(f"{event.error} {event.remedy}".strip()), lambda _: True)
        elif isinstance(event, events.MemberReleased):
            self.release(event.exit_code)

    def awaits_release(self, pid: int) -> bool:
        return any(peer_of(each)[0] == pid for each in self._servers)

    def release(self, exit_code: int, pid: int = 0) -> None:
        """Of all processes, or of this one, which servers of the same run still have to serve."""
        self._release, self._released_pid = messages.ReleaseAnswer(exit_code), pid
        waited = [each for each in self._servers if pid in (0, peer_of(each)[0])]
        self._servers = [each for each in self._servers if each not in waited]
        for server in waited:
            server.tell(self._release)
        self.has_released |= bool(waited)

    def forget(self, connection: Connection) -> None:
        self._waiting.pop(connection, None)
        self._servers = [server for server in self._servers if server is not connection]

    def _answer(self, answer: messages.Message, concerns: Callable[[_Waiting], bool]) -> bool:
        served = [asker for asker, waiting in self._waiting.items() if concerns(waiting)]
        for asker in served:
            asker.tell(answer)
            del self._waiting[asker]
        return bool(served)


class ClientReception:
    """Clients that have not yet said what they are, and command-line clients."""

    def __init__(self, event_loop: EventLoop, control: ControlSocket, desk: RequestDesk) -> None:
        self._event_loop = event_loop
        self._control = control
        self._desk = desk
        self._clients: set[Connection] = set()
        event_loop.watch(control, self._accept)

    def close(self) -> None:
        self._event_loop.forget(self._control)
        for client in list(self._clients):
            self._dismiss(client)

    def _accept(self) -> None:
        client = self._control.accept()
        if client is not None:
            self._clients.add(client)
            self._event_loop.watch(client, lambda: self._receive(client))

    def _receive(self, client: Connection) -> Iterator[occurrences.Occurrence]:
        try:
            received = client.receive_ready()
        except (PeerClosed, EnvironmentFault):
            self._dismiss(client)
            return
        for each in received:
            if client in self._clients:
                yield from self._handle(client, each)
            close_all(each.fds)

    def _handle(self, client: Connection, received: Received) -> Iterator[occurrences.Occurrence]:
        match received.message:
            case messages.MalformedMessage(reason):
                client.tell(messages.Refusal(reason))
                self._dismiss(client)
            case messages.ClientRequest() as request:
                yield from self._desk.serve(client, request)
            case messages.RoleReport() as report:
                yield from self._desk.take_role(client, report)
            case messages.ReleaseRequest(waits):
                self._desk.await_release(client, waits=waits)
            case messages.Hello() as hello:
                self._clients.discard(client)
                self._event_loop.forget(client)
                # As the kernel says, unless the process is in another pid namespace.
                pid = peer_of(client)[0] or hello.pid
                yield occurrences.TrainingAsked(client, replace(hello, pid=pid))

    def _dismiss(self, client: Connection) -> None:
        self._clients.discard(client)
        self._event_loop.forget(client)
        self._desk.forget(client)
        client.close()
