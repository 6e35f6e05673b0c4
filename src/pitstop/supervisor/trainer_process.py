"""The user's command as processes: started, watched, ended to the last one."""

from __future__ import annotations

import signal
from collections.abc import Collection, Mapping, Sequence

from pitstop.supervisor import family, process
from pitstop.supervisor.process import Exit, Streams


class TrainerProcess:
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
        streams: Streams,
        signal_mask: frozenset[signal.Signals],
    ) -> None:
        """Starts the command.

        Raises:
            CommandNotExecutable: the kernel cannot execute the program.
            EnvironmentFault: the kernel refuses another process.
        """
        try:
            self.pid = process.spawn(
                program, command, environment, streams=streams, signal_mask=signal_mask
            )
        except OSError as error:
            raise process.explain_refusal(program, error) from error
        self.exit: Exit | None = None

    def collected(self, ended: Exit, trainer_pid: int) -> None:
        """Takes note of a process that ended.

        A script that went into the background ends as its training process
        does, not as the one that left it there.
        """
        trained_behind = self.exit is not None and ended.pid == trainer_pid
        if ended.pid == self.pid or trained_behind:
            self.exit = ended

    def goes_on(self, trainer_pid: int, survivors: Collection[int]) -> bool:
        """Whether the command went into the background instead of ending.

        A main process that succeeds while the training process lives did; and
        while nobody has reported to train, any survivor may be about to.
        """
        if self.exit is None or self.exit.wait_status != 0:
            return False
        return trainer_pid in survivors or trainer_pid == 0

    def send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        """Sends a signal to all of them, those in sessions of their own included."""
        strays = list(descendants)
        if self.exit is None:
            strays = [pid for pid in strays if family.group_of(pid) != self.pid]
            family.send_to_group(number, self.pid)
        family.send(number, strays)

    def suspend(self) -> None:
        """Stops its process group, as Ctrl-Z would have."""
        family.send_to_group(signal.SIGSTOP, self.pid)

    def resume(self) -> None:
        """Lets a stopped process group go on."""
        family.send_to_group(signal.SIGCONT, self.pid)
