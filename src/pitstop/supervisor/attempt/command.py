"""The user's command: its processes, from the start of the first to the end of the last."""

from __future__ import annotations

from collections.abc import Iterator

from pitstop.errors import PitstopError
from pitstop.supervisor.attempt.plan import AttemptPlan, AttemptResources
from pitstop.supervisor.lifecycle.occurrences import CommandEnded, Occurrence
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.adopted_process import AdoptedProcess
from pitstop.supervisor.processes.trainer_process import TrainerProcess, aftermath
from pitstop.supervisor.trainer.trainer_slot import TrainerSlot


class Command:
    """The command of one attempt.

    Attributes:
        main: its main process.
    """

    main: TrainerProcess | AdoptedProcess

    def __init__(
        self,
        plan: AttemptPlan,
        resources: AttemptResources,
        trainer_slot: TrainerSlot,
    ) -> None:
        self._plan = plan
        self._resources = resources
        self._lifecycle = resources.lifecycle
        self._trainer_slot = trainer_slot
        self._daemonized = False

    def start(self) -> None:
        """Starts the command, or watches the script that asked to be supervised.

        Raises:
            CommandNotExecutable: the kernel cannot execute the program.
            EnvironmentFault: the kernel refuses another process.
        """
        try:
            self.main = self._adopt() if self._plan.request.trainer_pid else self._spawn()
        except PitstopError:
            self._resources.persister.finish()
            raise
        self._resources.tee.script_started()
        self._resources.persister.set_trainer(self.main.pid)

    def collect(self) -> Iterator[Occurrence]:
        """Takes note of the processes that have ended."""
        for ended in process.reap():
            self.main.collected(ended, self._trainer_slot.pid)
        if self.main.gone and self._lifecycle.is_live:
            survivors, state = self._descendants(), self._lifecycle.state
            happened = aftermath(self.main.wait_status, self._trainer_slot.pid, survivors, state)
            if happened is Trigger.TRAINER_GONE:
                yield CommandEnded()
            elif happened and not (happened is Trigger.DAEMONIZED and self._daemonized):
                self._daemonized |= happened is Trigger.DAEMONIZED
                yield happened

    def forward(self, signal_name: str) -> None:
        """Hands on the signal that asked for a stop; SIGTERM where none did."""
        self.main.forward(signal_name, self._descendants())

    def terminate(self, grace_seconds: float) -> None:
        """Asks all of it to end; the grace counts from here."""
        self.main.terminate(self._descendants(), grace_seconds)

    def kill(self) -> None:
        """Kills all of it."""
        self.main.kill(self._descendants())

    def check_end(self) -> Iterator[Occurrence]:
        """Kills, while the attempt ends, what does not end by itself."""
        if self._lifecycle.state is not State.ENDING:
            return
        if self.main.grace_passed:
            yield Trigger.TERMINATE_GRACE_PASSED
        elif self.main.killed:
            # Whatever was forked between our look and our signal.
            self.kill()

    def _descendants(self) -> list[int]:
        mirror = self._resources.mirror
        ours = {self._resources.persister.pid, mirror.pid if mirror else 0}
        return family.living_descendants(ours)

    def _spawn(self) -> TrainerProcess:
        return TrainerProcess(
            self._plan.program,
            self._plan.request.command,
            self._plan.environment,
            self._resources.tee.streams,
            self._resources.signals.original_mask,
        )

    def _adopt(self) -> AdoptedProcess:
        adopted = AdoptedProcess(self._plan.request.trainer_pid)

        def ended() -> Iterator[Occurrence]:
            self._resources.event_loop.forget(adopted)
            adopted.collect()
            adopted.close()
            return self.collect()

        self._resources.event_loop.watch(adopted, ended)
        return adopted
