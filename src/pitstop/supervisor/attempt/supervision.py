"""The loop of one attempt: waits, looks at what time has brought, and has it all handled."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator

from pitstop.events import StopRequested
from pitstop.supervisor.attempt.dispatch import Dispatch
from pitstop.supervisor.attempt.parts import AttemptParts
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources
from pitstop.supervisor.attempt.starting import RunningCommand
from pitstop.supervisor.lifecycle.occurrences import Occurrence, StopAsked
from pitstop.supervisor.processes import family
from pitstop.supervisor.records import notices
from pitstop.supervisor.status.status import Status
from pitstop.supervisor.stops.signals import Action, ReceivedSignal, suspend_self

_IDLE_SECONDS = 0.5
_WATCHFUL_SECONDS = 0.05
_AGREEING_SECONDS = 0.002
"""While the trainers of several members wait."""


class Supervision:
    """One attempt, from the start of the command to the end of its last process."""

    def __init__(
        self,
        plan: AttemptPlan,
        resources: AttemptResources,
        running: RunningCommand,
    ) -> None:
        """Connects the parts; the command and the persister have been started."""
        self._plan = plan
        self._resources = resources
        self._parts = AttemptParts(plan, resources, running)
        self._dispatch = Dispatch(self._parts)
        resources.event_loop.watch(resources.signals, self._read_signals)
        self._dispatch.perform(self._start())

    def run(self) -> int:
        """Supervises until the last process is gone; the exit code of the attempt."""
        lifecycle, event_loop = self._resources.lifecycle, self._resources.event_loop
        while not lifecycle.is_over:
            wait_seconds = _IDLE_SECONDS if lifecycle.is_calm else _WATCHFUL_SECONDS
            if self._parts.gang.is_agreeing:
                wait_seconds = _AGREEING_SECONDS
            self._dispatch.perform(event_loop.turn(wait_seconds))
            self._dispatch.perform(self._tick(time.monotonic()))
        return self._parts.command.exit_code

    def finish_cluster(self) -> None:
        """Tells the other members how the run ended; who leads waits until they have, too."""
        outcome = self._resources.lifecycle.state, self._parts.command.exit_code
        self._dispatch.perform(self._parts.membership.finish(*outcome))

    def finish_mirror(self) -> None:
        """Waits for the last uploads, no longer than the stop or the time limit allows."""
        patience = self._parts.stopping.mirror_patience_seconds()
        self._dispatch.perform(self._parts.mirroring.finish(patience))

    def status(self) -> Status:
        return self._parts.status()

    def last_words(self) -> tuple[str, ...]:
        seconds = max(0.0, time.time() - self._plan.started_seconds)
        state, exit_code = self._resources.lifecycle.state, self._parts.command.exit_code
        run_dir, attempt_state = self._plan.request.run_dir, self._resources.attempt_state
        return notices.final_lines(state, exit_code, attempt_state, run_dir, seconds)

    def close(self) -> None:
        self._parts.close()

    def _start(self) -> Iterator[Occurrence]:
        parts = self._parts
        parts.saving.begin()
        yield from parts.restoring.begin()
        parts.mirroring.begin()
        parts.membership.begin()
        parts.flight.begin(parts.command.main.pid)
        yield parts.command.started()
        if parts.job.seen is not None:
            yield parts.job.seen
        yield from self._plan.environment_changes()

    def _tick(self, now_seconds: float) -> Iterator[Occurrence]:
        parts, lifecycle, screen = self._parts, self._resources.lifecycle, self._resources.screen
        yield from parts.saving.tick()
        yield from parts.flight.take_forecasts()
        yield from parts.trainers.tick()
        yield from parts.membership.tick()
        yield from parts.gang.tick()
        if lifecycle.is_calm:
            yield from parts.stopping.look(now_seconds)
        if lifecycle.is_calm:
            yield from parts.hang_monitor.look(now_seconds, parts.trainers.watched_pid)
        yield from parts.stopping.check_deadline(now_seconds)
        yield from parts.command.check_end()
        yield from parts.trainers.check_arrival(now_seconds)
        if screen.due(now_seconds):
            screen.show(parts.status())

    def _read_signals(self) -> Iterator[Occurrence]:
        for received in self._resources.signals.take():
            yield from self._respond(received)
        yield from self._parts.command.collect()

    def _respond(self, received: ReceivedSignal) -> Iterator[Occurrence]:
        if received.asks_to_stop and self._resources.lifecycle.is_over:
            self._parts.mirroring.give_up("it was not waited for")
            self._parts.membership.give_up()
        elif received.asks_to_stop:
            yield StopAsked(self._stop_request(received))
        elif received.signal is signal.SIGTSTP:
            self._suspend()
        elif received.signal is signal.SIGWINCH:
            self._resources.resize()
        elif received.action is Action.CHECKPOINT:
            taken = self._parts.trainers.ask_checkpoint() is not None
            yield notices.checkpoint_asked(received.signal.name, taken=taken)

    def _stop_request(self, received: ReceivedSignal) -> StopRequested:
        sender_pid = received.sender_pid
        command = family.command_of(sender_pid) if sender_pid else ""
        again = self._resources.attempt_state.stop_requested
        return self._plan.request.stops.request(received, command, os.environ, again=again)

    def _suspend(self) -> None:
        stopped_at = time.monotonic()
        self._parts.membership.suspend()
        self._parts.command.main.suspend()
        self._resources.screen.suspend()
        suspend_self()
        self._resources.resize()
        away_seconds = time.monotonic() - stopped_at
        self._parts.command.main.resume(away_seconds)
        self._parts.stopping.resumed(away_seconds)
        self._parts.trainers.resumed(away_seconds)
