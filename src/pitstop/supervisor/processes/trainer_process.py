"""The user's command as processes: started, watched, ended to the last one."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping, Sequence

from pitstop.machine import signalling
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.process import Exit, StandardStreams
from pitstop.supervisor.processes.watched_process import WatchedProcess


class TrainerProcess(WatchedProcess):
    """The command's main process and everything that came out of it.

    Attributes:
        pid: the main process, leader of its own session.
        exit: how it ended, None while it lives.
    """

    def __init__(
        self,
        program: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        streams: StandardStreams,
        signal_mask: frozenset[signal.Signals],
    ) -> None:
        """Starts the command.

        Raises:
            CommandNotExecutable: the kernel cannot execute the program.
            EnvironmentFault: the kernel refuses another process.
        """
        super().__init__()
        try:
            self.pid = process.spawn(
                program, command, environment, streams=streams, signal_mask=signal_mask
            )
        except OSError as error:
            raise process.explain_refusal(program, error) from error
        self.exit: Exit | None = None

    @property
    def gone(self) -> bool:
        """Whether the main process has ended."""
        return self.exit is not None

    @property
    def wait_status(self) -> int:
        """Of the main process, as `os.wait4` gives it; 0 while it lives."""
        return self.exit.wait_status if self.exit else 0

    def collected(self, ended: Exit, trainer_pid: int) -> None:
        """Takes note of a process that ended.

        A script that went into the background ends as its training process
        does, not as the one that left it there.
        """
        trained_behind = self.exit is not None and ended.pid == trainer_pid
        if ended.pid == self.pid or trained_behind:
            self.exit = ended

    def suspend(self) -> None:
        """Stops its process group, as Ctrl-Z would have."""
        signalling.send_to_group(signal.SIGSTOP, self.pid)

    def resume(self, away_seconds: float) -> None:
        """Lets a stopped process group go on; the time away counts for nothing."""
        super().resume(away_seconds)
        signalling.send_to_group(signal.SIGCONT, self.pid)

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        strays = list(descendants)
        if self.exit is None:
            # The group at once, and one by one who left it for a session of its own.
            strays = [pid for pid in strays if family.group_of(pid) != self.pid]
            signalling.send_to_group(number, self.pid)
        signalling.send(number, strays)


def aftermath(
    wait_status: int | None, trainer_pid: int, survivors: Collection[int], state: State
) -> Trigger | None:
    """What the end of the main process means; None when there is only to wait.

    A main process that succeeds while the training process lives has gone into
    the background; and while nobody has reported to train, any survivor may be
    about to.

    Args:
        wait_status: of the main process.
        trainer_pid: the process that trains or trained, 0 when nobody reported.
        survivors: processes of the command that still live.
        state: of the lifecycle.
    """
    if not survivors:
        return Trigger.TRAINER_GONE
    if state is State.ENDING:
        return None
    undisturbed = state in (State.STARTING, State.RUNNING)
    if undisturbed and wait_status == 0 and (not trainer_pid or trainer_pid in survivors):
        return Trigger.DAEMONIZED
    return None if trainer_pid in survivors else Trigger.LEFTOVERS
