"""The loop of one attempt: feeds the lifecycle and performs what it says."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from dataclasses import asdict, replace

from pitstop.errors import PitstopError
from pitstop.events import AttemptEnded, Notice, StopRequested
from pitstop.link.beacon import Stop
from pitstop.machine.pressure import sample
from pitstop.observation.observer import Observer
from pitstop.store.run_folder import STOP_FILE
from pitstop.supervisor.attempt.exchange import Ears, Exchange
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources
from pitstop.supervisor.helpers import mirroring
from pitstop.supervisor.lifecycle import deadline, table
from pitstop.supervisor.lifecycle.ending import AttemptEnding, decide, trainer_exited
from pitstop.supervisor.lifecycle.event_loop import EventLoop
from pitstop.supervisor.lifecycle.table import FINAL, Instruction, State, Trigger
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.adopted_process import AdoptedProcess
from pitstop.supervisor.processes.command_line import is_python
from pitstop.supervisor.processes.trainer_process import TrainerProcess, aftermath
from pitstop.supervisor.records import notices
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.status.live_status import live_status
from pitstop.supervisor.status.status import Status
from pitstop.supervisor.stops import pressure, time_limit
from pitstop.supervisor.stops.pressure_watch import PressureWatch
from pitstop.supervisor.stops.signal_actions import Action
from pitstop.supervisor.stops.signals import ReceivedSignal, suspend_self
from pitstop.supervisor.stops.stop_sources import StopSources

_IDLE_SECONDS = 0.5
_WATCHFUL_SECONDS = 0.05
_NOBODY_SECONDS = 60.0
_CALM = frozenset({State.STARTING, State.RUNNING})
_LIVE = frozenset({State.STARTING, State.RUNNING, State.STOPPING, State.ENDING})
_NEVER = float("inf")


class Supervision:
    """One attempt, from the start of the command to the end of its last process."""

    def __init__(self, plan: AttemptPlan, resources: AttemptResources) -> None:
        """Connects the parts and starts the persister, and the command beside it.

        Raises:
            CommandNotExecutable: the kernel cannot execute the program.
            EnvironmentFault: the kernel refuses another process.
        """
        self._plan = plan
        self._resources = resources
        self._state = State.STARTING
        self._exit_code = 0
        self._stop_at = _NEVER
        self._nobody_at = time.monotonic() + _NOBODY_SECONDS
        self._daemonized = False
        self._ending: AttemptEnding | None = None
        self._event_loop = EventLoop()
        self._exchange = Exchange(self._event_loop, plan, resources, self._ears())
        self._event_loop.watch(resources.signals, self._on_signals)
        self._stop_sources = StopSources(
            plan.request.run_dir / STOP_FILE, plan.time_limit, resources.preemption.request
        )
        self._pressure = PressureWatch(lambda: sample(plan.request.run_dir))
        self._perform = self._instruction_table()
        self._trainer = self._start()
        self._observer = Observer.begin(self._trainer.pid)
        self._exchange.record_started(self._trainer.pid, self._observer.cgroup)

    def run(self) -> int:
        """Supervises until the last process is gone; the exit code of the attempt."""
        while self._state not in FINAL:
            self._event_loop.turn(_IDLE_SECONDS if self._state in _CALM else _WATCHFUL_SECONDS)
            self._tick()
        return self._exit_code

    def finish_mirror(self) -> None:
        """Waits for the last uploads, no longer than the stop or the time limit allows."""
        now, limit = time.monotonic(), self._stop_sources.limit
        waited = None if self._stop_at == _NEVER else now - self._stop_at
        left = None if limit is None else limit.ends_at_seconds - now - time_limit.MARGIN_SECONDS
        wait = mirroring.patience_seconds(waited, self._plan.grace_seconds, left)
        self._exchange.mirroring.finish(wait)

    @property
    def state(self) -> State:
        """Where the attempt is."""
        return self._state

    def status(self) -> Status:
        """What there is to say now."""
        pid = self._exchange.trainer_slot.present_pid or self._trainer.pid
        identity = replace(
            self._plan.status(),
            pid=pid,
            rss_bytes=family.resident_bytes(pid),
            checkpoint_interval_seconds=self._exchange.saving.interval_seconds,
            snapshot_memory_bytes=self._resources.persister.arena_bytes,
            snapshot_backing=self._resources.persister.arena_backing,
            **asdict(self._exchange.hang_monitor.report(time.monotonic())),
        )
        progress = self._resources.beacon.progress()
        now = live_status(identity, self._state, self._attempt_state, progress, time.time())
        return self._exchange.flight.seen(now)

    def last_words(self) -> tuple[str, ...]:
        """What to tell the user at the end."""
        run_dir = self._plan.request.run_dir
        seconds = max(0.0, time.time() - self._plan.started_seconds)
        return notices.final_lines(
            self._state, self._exit_code, self._attempt_state, run_dir, seconds
        )

    def close(self) -> None:
        """Says good-bye to waiting clients and gives the memory back."""
        self._exchange.close()
        self._event_loop.close()

    # -- the lifecycle ---------------------------------------------------------

    def _feed(self, happened: Trigger) -> None:
        transition = table.advance(self._state, happened)
        self._state = transition.state
        # An instruction that feeds in turn stands last in its transition.
        for instruction in transition.instructions:
            self._perform[instruction]()

    def _instruction_table(self) -> dict[Instruction, Callable[[], None]]:
        beacon = self._resources.beacon
        return {
            Instruction.RAISE_GRACEFUL: lambda: beacon.request_stop(Stop.GRACEFUL),
            Instruction.RAISE_NOW: lambda: beacon.request_stop(Stop.NOW),
            Instruction.ARM_DEADLINE: self._arm_deadline,
            Instruction.TERMINATE_TRAINER: lambda: self._trainer.terminate(
                self._descendants(), self._stop_sources.terminate_seconds(self._save_seconds)
            ),
            Instruction.KILL_TRAINER: lambda: self._trainer.kill(self._descendants()),
            Instruction.TELL_DAEMONIZED: lambda: self._exchange.record(notices.DAEMONIZED),
            Instruction.RESTART_PERSISTER: self._exchange.saving.restart,
            Instruction.GIVE_UP_PERSISTER: self._exchange.saving.give_up,
            Instruction.PERSIST_NEWEST: self._persist_newest,
            Instruction.FINISH_PERSISTER: self._exchange.saving.finish,
            Instruction.LEAVE_PERSISTER: self._exchange.saving.leave,
            Instruction.CONCLUDE: self._conclude,
            Instruction.FINISH: self._finish,
        }

    def _arm_deadline(self) -> None:
        self._stop_at = time.monotonic()

    def _persist_newest(self) -> None:
        succeeded = self._ending is not None and self._ending.exit_code == 0
        self._exchange.saving.persist_last("cadence" if succeeded else "trainer_lost")

    def _conclude(self) -> None:
        verdict = decide(self._ending or self._final_ending())
        self._exit_code = verdict.exit_code
        self._feed(verdict.signal)

    def _finish(self) -> None:
        step, saved = self._resources.beacon.progress().step, self._attempt_state.checkpoint_step
        attempt, state = self._plan.attempt, self._state.value
        self._exchange.record(AttemptEnded(attempt, state, self._exit_code, step, saved))

    # -- time --------------------------------------------------------------------

    def _tick(self) -> None:
        now = time.monotonic()
        self._exchange.tick()
        if self._state in _CALM:
            self._look_for_stops(now)
        if self._state in _CALM:
            self._exchange.hang_monitor.look(now)
        if self._state is State.STOPPING:
            self._check_deadline(now)
        if self._state is State.ENDING:
            self._check_end()
        if self._state is State.STARTING and now >= self._nobody_at:
            self._tell_nobody(notices.NO_TRAINING_YET)
            self._feed(Trigger.NOBODY_CONNECTED)
        if self._resources.screen.due(now):
            self._resources.screen.show(self.status())

    def _look_for_stops(self, now: float) -> None:
        step_seconds = self._resources.beacon.progress().step_seconds
        request = self._stop_sources.request(now, step_seconds, self._save_seconds)
        if request is not None:
            self._request_stop(request)
        if problem := self._resources.preemption.take_problem():
            self._exchange.record(problem)
        if warning := self._resources.preemption.take_warning():
            self._exchange.record(warning)
            self._exchange.saving.persist_soon("preemption")
        shortage = self._pressure.rises(
            now,
            lambda: family.resident_bytes(self._exchange.trainer_slot.present_pid),
            self._attempt_state.checkpoint_bytes,
        )
        if shortage:
            self._relieve(shortage)

    def _relieve(self, shortage: str) -> None:
        self._exchange.saving.persist_soon("pressure")
        if self._plan.request.stops.stops_under_pressure:
            self._request_stop(pressure.request(shortage))
        else:
            self._exchange.record(pressure.notice(shortage))

    def _check_deadline(self, now: float) -> None:
        progress = self._resources.beacon.progress()
        left_at = self._exchange.trainer_slot.left_at
        wait = deadline.patience(
            progress,
            connected=self._exchange.watches,
            stopped=self._attempt_state.trainer_stopped,
            grace_seconds=self._plan.request.grace_seconds,
            goes_on=self._plan.goes_on,
            left_seconds=left_at - self._stop_at if left_at is not None else None,
        )
        wait = self._stop_sources.bound(wait, self._stop_at, self._save_seconds)
        event = deadline.overdue(wait, now - self._stop_at, progress)
        if event is not None:
            self._exchange.record(event)
            self._feed(Trigger.DEADLINE_PASSED)

    def _check_end(self) -> None:
        if self._trainer.grace_passed:
            self._feed(Trigger.TERMINATE_GRACE_PASSED)
        elif self._trainer.killed:
            # Whatever was forked between our look and our signal.
            self._trainer.kill(self._descendants())

    def _suspend(self) -> None:
        stopped_at = time.monotonic()
        self._trainer.suspend()
        self._resources.screen.suspend()
        suspend_self()
        self._resize()
        away_seconds = time.monotonic() - stopped_at
        self._trainer.resume(away_seconds)
        self._stop_at += away_seconds
        self._nobody_at += away_seconds

    # -- processes -----------------------------------------------------------------

    def _start(self) -> TrainerProcess | AdoptedProcess:
        self._exchange.begin()
        self._resize()
        try:
            trainer = self._adopt() if self._plan.request.trainer_pid else self._spawn()
        except PitstopError:
            self._resources.persister.finish()
            raise
        self._resources.tee.script_started()
        self._resources.persister.set_trainer(trainer.pid)
        return trainer

    def _spawn(self) -> TrainerProcess:
        return TrainerProcess(
            self._plan.program,
            self._plan.request.command,
            self._plan.environment,
            self._resources.tee.streams,
            self._resources.signals.original_mask,
        )

    def _adopt(self) -> AdoptedProcess:
        trainer = AdoptedProcess(self._plan.request.trainer_pid)

        def ended() -> None:
            self._event_loop.forget(trainer)
            trainer.collect()
            trainer.close()
            self._on_children()

        self._event_loop.watch(trainer, ended)
        return trainer

    def _on_signals(self) -> None:
        for received in self._resources.signals.take():
            if received.asks_to_stop and self._state in FINAL:
                self._exchange.mirroring.give_up("it was not waited for")
            elif received.asks_to_stop:
                self._request_stop(self._stop_request(received))
            elif received.signal is signal.SIGTSTP:
                self._suspend()
            elif received.signal is signal.SIGWINCH:
                self._resize()
            elif received.action is Action.CHECKPOINT:
                self._ask_checkpoint(received.signal)
        self._on_children()

    def _stop_request(self, received: ReceivedSignal) -> StopRequested:
        sender_pid = received.sender_pid
        command = family.command_of(sender_pid) if sender_pid else ""
        again = self._attempt_state.stop_requested
        return self._plan.request.stops.request(received, command, os.environ, again=again)

    def _ask_checkpoint(self, number: signal.Signals) -> None:
        asked = self._exchange.ask_checkpoint() is not None
        self._exchange.record(notices.checkpoint_asked(number.name, taken=asked))

    def _resize(self) -> None:
        self._resources.screen.resize()
        self._resources.tee.resize(self._resources.screen.script_size())

    def _on_children(self) -> None:
        for ended in process.reap():
            self._trainer.collected(ended, self._exchange.trainer_slot.pid)
        if self._trainer.gone and self._state in _LIVE:
            self._on_main_exit(self._descendants())

    def _descendants(self) -> list[int]:
        mirror = self._resources.mirror
        ours = {self._resources.persister.pid, mirror.pid if mirror else 0}
        return family.living_descendants(ours)

    def _on_main_exit(self, survivors: list[int]) -> None:
        happened = aftermath(
            self._trainer.wait_status, self._exchange.trainer_slot.pid, survivors, self._state
        )
        if happened is Trigger.TRAINER_GONE:
            self._trainer_gone()
        elif happened is Trigger.LEFTOVERS:
            self._feed(happened)
        elif happened is Trigger.DAEMONIZED and not self._daemonized:
            self._daemonized = True
            self._feed(happened)

    def _trainer_gone(self) -> None:
        self._exchange.trainer_slot.drain()
        self._ending = self._final_ending()
        usage = self._trainer.exit.usage if self._trainer.exit else None
        machine = asdict(self._observer.end(usage, self._attempt_state.dead_workers))
        progress = self._resources.beacon.progress()
        role = self._attempt_state.role.role if self._attempt_state.role else ""
        now_ns = time.monotonic_ns()
        self._exchange.record(trainer_exited(self._ending, progress, machine, now_ns, role))
        if decide(self._ending).signal is Trigger.ENDED_COMPLETED:
            self._resources.tee.drain()
            self._tell_nobody(notices.NO_TRAINING)
        self._feed(Trigger.TRAINER_GONE)

    def _final_ending(self) -> AttemptEnding:
        return AttemptEnding(
            wait_status=self._trainer.wait_status,
            stop_requested=self._attempt_state.stop_requested,
            script_ended=self._attempt_state.script_ended,
            trainer_stopped=self._attempt_state.trainer_stopped,
            saves_nothing=self._attempt_state.saves_nothing,
        )

    def _tell_nobody(self, notice: Notice) -> None:
        """Tells that no training has reported, of a script that could have one."""
        silent = not (self._exchange.trainer_slot.pid or self._attempt_state.role)
        if silent and is_python(self._plan.request.command):
            self._exchange.record(notice)

    # -- conversations ---------------------------------------------------------------

    def _ears(self) -> Ears:
        return Ears(
            feed=self._feed,
            on_stop=self._request_stop,
            on_trainer=self._on_trainer,
            status=self.status,
            is_live=lambda: self._state in _LIVE,
        )

    def _on_trainer(self, pid: int) -> None:
        self._observer.sample(pid)

    @property
    def _attempt_state(self) -> AttemptState:
        return self._resources.event_log.attempt_state

    @property
    def _save_seconds(self) -> float:
        return self._attempt_state.save_seconds or self._plan.history.save_seconds

    def _request_stop(self, event: StopRequested) -> None:
        if self._state in (*_LIVE, State.SAVING):
            self._stop_sources.heard(event, time.monotonic())
            self._exchange.record(event)
            if event.urgency != "now":
                if self._state in _CALM and not self._exchange.watches:
                    self._trainer.forward(event.signal, self._descendants())
                self._feed(Trigger.STOP_GRACEFUL)
            elif self._state is State.SAVING and self._exchange.saving.is_overdue:
                self._feed(Trigger.SAVING_LEFT)
            else:
                self._feed(Trigger.STOP_NOW)
