"""The wait between a failed attempt and the next; whoever asks for a stop ends it."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from contextlib import closing

from pitstop.events import RestartCancelled
from pitstop.supervisor.control.clients import ClientReception
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.control.requests import RequestDesk
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.occurrences import (
    CheckpointAsked,
    Occurrence,
    StatusAsked,
    StopAsked,
    TrainingAsked,
)
from pitstop.supervisor.processes import process
from pitstop.supervisor.status.status import Status
from pitstop.supervisor.stops import signals
from pitstop.supervisor.stops.signals import SignalQueue
from pitstop.supervisor.stops.stop_sources import StopSources
from pitstop.supervisor.trainer.trainer_slot import refuse

WAITING = "starting"
"""The state of the run meanwhile, in the words of `Status`."""

_TURN_SECONDS = 0.25


class RestartWait:
    """Listens to everything that may ask for a stop while no attempt is under way."""

    def __init__(
        self,
        signal_queue: SignalQueue,
        control: ControlSocket,
        stop_sources: StopSources,
        status: Status,
        save_seconds: float,
    ) -> None:
        """Waits for nothing yet.

        Args:
            signal_queue: of the supervisor.
            control: the run's socket.
            stop_sources: the stop file, the time limit, and the cloud.
            status: what to answer who asks for it.
            save_seconds: what a checkpoint takes; an attempt that cannot save is no use.
        """
        self._signals = signal_queue
        self._control = control
        self._stop_sources = stop_sources
        self._status = status
        self._save_seconds = save_seconds
        self._desk = RequestDesk()
        self._cancelled: RestartCancelled | None = None

    def run(self, wait_seconds: float) -> RestartCancelled | None:
        """Waits; returns earlier, and with the reason, when the run is asked to stop."""
        ends_at = time.monotonic() + wait_seconds
        with (
            closing(EventLoop()) as event_loop,
            closing(ClientReception(event_loop, self._control, self._desk)),
        ):
            event_loop.watch(self._signals, self._read_signals)
            while self._cancelled is None and (now := time.monotonic()) < ends_at:
                self._turn(event_loop, min(_TURN_SECONDS, ends_at - now))
        return self._cancelled

    def _turn(self, event_loop: EventLoop, wait_seconds: float) -> None:
        for each in event_loop.turn(wait_seconds):
            self._handle(each)
        asked = self._stop_sources.request(time.monotonic(), 0.0, self._save_seconds)
        if asked is not None:
            self._handle(StopAsked(asked))

    def _handle(self, occurrence: Occurrence) -> None:
        match occurrence:
            case StopAsked(event):
                self._cancelled = RestartCancelled(event.source, event.signal, event.reason)
            case StatusAsked():
                self._desk.tell_status(occurrence, self._status)
            case CheckpointAsked():
                self._desk.await_checkpoint(occurrence, None)
            case TrainingAsked(connection):
                refuse(connection, "no attempt is under way")

    def _read_signals(self) -> Iterator[Occurrence]:
        for received in self._signals.take():
            if received.asks_to_stop:
                yield StopAsked(signals.stop_request(received, "", again=False))
            elif received.signal is signal.SIGTSTP:
                signals.suspend_self()
        for _ in process.reap():
            continue
