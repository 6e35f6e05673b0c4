"""A process that has the run's imports done, and takes the place of a trainer that has failed."""

import contextlib
import os
import signal
import socket
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from pitstop.events import JsonValue, SpareReady
from pitstop.link.settings import EAGER, ENV_SPARE
from pitstop.machine.descriptors import readable
from pitstop.machine.memory import available_bytes
from pitstop.record import Frozen
from pitstop.supervisor.processes import process
from pitstop.supervisor.processes.process import StandardStreams
from pitstop.supervisor.terminal.output import ChannelEnds, open_channels

_LOOK_SECONDS = 1.0
_MEMORY_BYTES = 2 << 30
"""With less memory left there is no spare process: it would take some hundred MB."""


class SparePlan(Frozen):
    command: Sequence[str]
    imports: Path  # a list of modules, written by the trainer
    environment: Mapping[str, str]  # of the next attempt
    fingerprint: Mapping[str, JsonValue]  # an attempt with another one may import other modules
    eager: bool = False  # start it even if no processor is idle


class _Started(Frozen):
    plan: SparePlan
    pid: int
    pidfd: int
    connection: socket.socket
    output: tuple[ChannelEnds, ...]
    started_seconds: float

    def says_ready(self) -> bool:
        """True once, when it has imported everything; never if an import failed."""
        with contextlib.suppress(OSError):
            return bool(self.connection.recv(1, socket.MSG_DONTWAIT))
        return False

    def lives(self) -> bool:
        return not readable([self.pidfd])

    def close(self) -> None:
        with contextlib.suppress(ProcessLookupError):
            signal.pidfd_send_signal(self.pidfd, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PIDFD, self.pidfd, os.WEXITED)
        _close(self.output)
        self._let_go()

    def release(self) -> int:
        # From now on its death is that of a trainer.
        with contextlib.suppress(OSError):
            self.connection.sendall(b".")
        self._let_go()
        return self.pid

    def _let_go(self) -> None:
        os.close(self.pidfd)
        self.connection.close()


class Spare:
    """At most one spare process: started while an attempt trains, and used by the next one."""

    def __init__(self, program: str, signal_mask: frozenset[signal.Signals]) -> None:
        self._program = program
        self._signal_mask = signal_mask
        self._started: _Started | None = None
        self._is_ready = False
        self._look_at = 0.0

    @property
    def pid(self) -> int:
        return self._started.pid if self._started else 0

    def look(self, plan: SparePlan | None, now_seconds: float) -> Iterator[SpareReady]:
        """Starts it once the trainer has listed its imports; ends it where memory gets short."""
        if plan is None or now_seconds < self._look_at:
            return
        self._look_at = now_seconds + _LOOK_SECONDS
        found = self._started
        if available_bytes() < _MEMORY_BYTES:
            self.close()
        elif found is None:
            self._start(plan)
        elif not self._is_ready and found.says_ready():
            self._is_ready = True
            yield SpareReady(found.pid, round(now_seconds - found.started_seconds, 3))

    def _start(self, plan: SparePlan) -> None:
        # If the machine refuses it, there is no spare process.
        with contextlib.suppress(OSError):
            if plan.imports.exists():
                self._started = _start(plan, self._program, self._signal_mask)

    def take(
        self, environment: Mapping[str, str], fingerprint: Mapping[str, JsonValue]
    ) -> tuple[ChannelEnds, ...]:
        """The output of the spare process if it can be this attempt's trainer; else empty.

        It need not be ready: it has a part of the imports done, and does the rest at once.
        """
        found = self._started
        fits = (
            found is not None
            and (found.plan.environment, found.plan.fingerprint) == (environment, fingerprint)
            and found.lives()
        )
        if not fits:
            self.close()
        return found.output if found and fits else ()

    def release(self) -> int:
        found, self._started, self._is_ready = self._started, None, False
        return found.release() if found else 0

    def close(self) -> None:
        if self._started is not None:
            self._started.close()
            self._started, self._is_ready = None, False


def _start(plan: SparePlan, program: str, signal_mask: frozenset[signal.Signals]) -> _Started:
    with contextlib.ExitStack() as opened:
        ours, theirs = map(opened.enter_context, socket.socketpair())
        pace = EAGER if plan.eager else ""
        told = {ENV_SPARE: f"{theirs.fileno()}:{pace}:{plan.imports}"}
        output = open_channels()
        opened.callback(_close, output)
        sinks = {target: sink for channel, _, sink in output for target in channel.targets}
        pid = process.spawn(
            program,
            plan.command,
            {**plan.environment, **told},
            streams=StandardStreams(sinks[1], sinks[2]),
            inherit=[theirs.fileno()],
            signal_mask=signal_mask,
        )
        opened.pop_all()
        theirs.close()
        return _Started(plan, pid, os.pidfd_open(pid), ours, output, time.monotonic())


def _close(output: tuple[ChannelEnds, ...]) -> None:
    for _, source, sink in output:
        os.close(source)
        os.close(sink)
