"""The wait between a failed attempt and the next; whoever asks for a stop ends it."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable
from contextlib import closing

from pitstop.events import RestartCancelled, StopRequested
from pitstop.link.messages import Hello
from pitstop.link.wire import Connection
from pitstop.supervisor.control.clients import ClientReception
from pitstop.supervisor.control.control_socket import ControlSocket
from pitstop.supervisor.control.requests import RequestDesk, RequestHandlers
from pitstop.supervisor.lifecycle.event_loop import EventLoop
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
            stop_sources: the stop file, and the time limit.
            status: what to answer who asks for it.
            save_seconds: what a checkpoint takes; an attempt that cannot save is no use.
        """
        self._signals = signal_queue
        self._control = control
        self._stop_sources = stop_sources
        self._status = status
        self._save_seconds = save_seconds
        self._cancelled: RestartCancelled | None = None

    def run(self, wait_seconds: float) -> RestartCancelled | None:
        """Waits; returns earlier, and with the reason, when the run is asked to stop."""
        ends_at = time.monotonic() + wait_seconds
        handlers = RequestHandlers(lambda: self._status, self._on_stop, lambda _: None)
        with closing(EventLoop()) as event_loop:
            desk = RequestDesk(handlers)
            with closing(ClientReception(event_loop, self._control, desk, _refuse)):
                event_loop.watch(self._signals, self._on_signals)
                self._turn_until(ends_at, event_loop.turn)
        return self._cancelled

    def _turn_until(self, ends_at_seconds: float, turn: Callable[[float], None]) -> None:
        while self._cancelled is None:
            now = time.monotonic()
            if now >= ends_at_seconds:
                return
            turn(min(_TURN_SECONDS, ends_at_seconds - now))
            asked = self._stop_sources.request(time.monotonic(), 0.0, self._save_seconds)
            if asked is not None:
                self._on_stop(asked)

    def _on_stop(self, event: StopRequested) -> None:
        self._cancelled = RestartCancelled(event.source, event.signal, event.reason)

    def _on_signals(self) -> None:
        for received in self._signals.take():
            if received.asks_to_stop:
                self._on_stop(signals.stop_request(received, "", again=False))
            elif received.signal is signal.SIGTSTP:
                signals.suspend_self()
        for _ in process.reap():
            continue


def _refuse(connection: Connection, _hello: Hello) -> None:
    refuse(connection, "no attempt is under way")
