"""The user's command as processes: started, watched, ended to the last one."""

from __future__ import annotations

import os
import signal
import time
from abc import ABC, abstractmethod
from collections.abc import Collection, Mapping, Sequence

from pitstop.machine import signalling
from pitstop.supervisor.lifecycle.table import State, Trigger
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.process import Exit, StandardStreams

_NEVER = float("inf")


class WatchedProcess(ABC):
    """A trainer and what came out of it; `killed`: all of it was sent SIGKILL."""

    def __init__(self) -> None:
        self.killed = False
        self._kill_at = _NEVER

    def forward(self, name: str, descendants: Collection[int]) -> None:
        """Hands on the signal that asked for a stop; SIGTERM where none did."""
        self._send(signal.Signals[name] if name else signal.SIGTERM, descendants)

    def terminate(self, descendants: Collection[int], grace_seconds: float) -> None:
        """Asks all of it to end (SIGTERM); the grace counts from here."""
        self._kill_at = time.monotonic() + grace_seconds
        self._send(signal.SIGTERM, descendants)

    def kill(self, descendants: Collection[int]) -> None:
        self._kill_at = _NEVER
        self.killed = True
        self._send(signal.SIGKILL, descendants)

    @property
    def grace_passed(self) -> bool:
        return time.monotonic() >= self._kill_at

    def resume(self, away_seconds: float) -> None:
        self._kill_at += away_seconds

    @abstractmethod
    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None: ...


class TrainerProcess(WatchedProcess):
    """The command's main process, leader of its own session, and everything that came out of it."""

    def __init__(
        self,
        program: str,
        command: Sequence[str],
        environment: Mapping[str, str],
        streams: StandardStreams,
        signal_mask: frozenset[signal.Signals],
    ) -> None:
        """Raises `CommandNotExecutable`, or `EnvironmentFault` for no more processes."""
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
        return self.exit is not None

    @property
    def wait_status(self) -> int:
        return self.exit.wait_status if self.exit else 0

    def collected(self, ended: Exit, trainer_pid: int) -> None:
        """Takes note of a process that ended.

        A script that went into the background ends as its training process does, not as the one
        that left it there.
        """
        trained_behind = self.exit is not None and ended.pid == trainer_pid
        if ended.pid == self.pid or trained_behind:
            self.exit = ended

    def suspend(self) -> None:
        """Stops its process group, as Ctrl-Z would have."""
        signalling.send_to_group(signal.SIGSTOP, self.pid)

    def resume(self, away_seconds: float) -> None:
        super().resume(away_seconds)
        signalling.send_to_group(signal.SIGCONT, self.pid)

    def _send(self, number: signal.Signals, descendants: Collection[int]) -> None:
        strays = list(descendants)
        if self.exit is None:
            # The group at once, and one by one who left it for a session of its own.
            strays = [pid for pid in strays if _group_of(pid) != self.pid]
            signalling.send_to_group(number, self.pid)
        signalling.send(number, strays)


def _group_of(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def aftermath(
    wait_status: int | None, trainer_pid: int, survivors: Collection[int], state: State
) -> Trigger | None:
    """What the end of the main process means; None when there is only to wait.

    A main process that succeeds while the training process lives has gone into the background; and
    while nobody has reported to train (`trainer_pid` is 0), any survivor may be about to.
    """
    if not survivors:
        return Trigger.TRAINER_GONE
    if state is State.ENDING:
        return None
    undisturbed = state in (State.STARTING, State.RUNNING)
    if undisturbed and wait_status == 0 and (not trainer_pid or trainer_pid in survivors):
        return Trigger.DAEMONIZED
    return None if trainer_pid in survivors else Trigger.LEFTOVERS
