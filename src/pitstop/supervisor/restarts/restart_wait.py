"""The wait between a failed attempt and the next; a stop request ends it."""

import signal
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

from pitstop.cluster.cluster_link import MEMBERS_SECONDS, ClusterLink
from pitstop.cluster.messages import Beat, Release
from pitstop.cluster.roster import SUSPENDED
from pitstop.events import MemberReleased, RestartCancelled, StopRequested
from pitstop.exit_codes import EXIT_STOPPED
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.control.requests import ClientReception, RequestDesk
from pitstop.supervisor.lifecycle import occurrences
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.trainer_slot import refuse
from pitstop.supervisor.records import notices
from pitstop.supervisor.status import Status
from pitstop.supervisor.stops import signals
from pitstop.supervisor.stops.signals import SignalQueue
from pitstop.supervisor.stops.stop_sources import StopSources

WAITING = "starting"  # the state of the run meanwhile, in the words of `Status`

_TURN_SECONDS = 0.25


@dataclass(eq=False)
class RestartWait:
    """Listens to everything that may ask for a stop while no attempt is under way."""

    _signals: SignalQueue
    _control: ControlSocket
    _stop_sources: StopSources
    _status: Status
    _save_seconds: float  # an attempt that cannot be saved any more is no use
    _cluster: ClusterLink

    def __post_init__(self) -> None:
        self._desk = RequestDesk()
        self._cancelled: RestartCancelled | None = None

    def run(self, wait_seconds: float) -> RestartCancelled | None:
        ends_at = time.monotonic() + wait_seconds
        with (
            closing(occurrences.EventLoop()) as event_loop,
            closing(ClientReception(event_loop, self._control, self._desk)),
        ):
            event_loop.watch(self._signals, self._read_signals)
            while self._cancelled is None and (now := time.monotonic()) < ends_at:
                self._turn(event_loop, min(_TURN_SECONDS, ends_at - now))
            if self._cancelled is not None:
                state = State.STOPPED
                end = Release(state.value, EXIT_STOPPED, notices.outcome_of(state, EXIT_STOPPED))
                give_up_at = time.monotonic() + MEMBERS_SECONDS
                self._cluster.end(end)
                while self._cluster.is_awaited and time.monotonic() < give_up_at:
                    self._turn(event_loop, _TURN_SECONDS)
                    self._cluster.end(end)
        return self._cancelled

    def _turn(self, event_loop: occurrences.EventLoop, wait_seconds: float) -> None:
        for each in event_loop.turn(wait_seconds):
            self._handle(each)
        for event in (*self._cluster.heard(), *self._cluster.tick(Beat(WAITING, WAITING))):
            if isinstance(event, StopRequested):
                self._handle(occurrences.StopAsked(event))
            elif isinstance(event, MemberReleased):
                self._handle(
                    occurrences.StopAsked(StopRequested("cluster", "graceful", reason=event.reason))
                )
        asked = self._stop_sources.request(time.monotonic(), 0.0, self._save_seconds)
        if asked is not None:
            self._handle(occurrences.StopAsked(asked))

    def _handle(self, occurrence: occurrences.Occurrence) -> None:
        match occurrence:
            case occurrences.StopAsked(event):
                self._cancelled = RestartCancelled(event.source, event.signal, event.reason)
            case occurrences.StatusAsked():
                self._desk.tell_status(occurrence, self._status)
            case occurrences.CheckpointAsked():
                self._desk.await_checkpoint(occurrence, None)
            case occurrences.TrainingAsked(connection):
                refuse(connection, "no attempt is under way")

    def _read_signals(self) -> Iterator[occurrences.Occurrence]:
        for received in self._signals.take():
            if received.asks_to_stop:
                yield occurrences.StopAsked(signals.stop_request(received, "", again=False))
            elif received.signal is signal.SIGTSTP:
                self._cluster.beat_now(Beat(SUSPENDED, WAITING))
                signals.suspend_self()
        for _ in process.reap():
            continue
