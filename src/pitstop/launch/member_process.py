"""One member's `pitstop run` as a process, from its start to how it ended."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence

from pitstop import journal
from pitstop.events import AttemptEnded
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_STOPPED
from pitstop.launch.ending import MemberEnd
from pitstop.launch.output import MemberOutput
from pitstop.launch.plan import Member
from pitstop.machine import signalling
from pitstop.machine.own_process import heeds
from pitstop.store.run_folder import JOURNAL_FILE
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.process import StandardStreams

_SIGNALLED = 128
_LAST_HEEDED = signal.SIGUSR1
"""Of the signals that a starting `pitstop run` takes over, see `stops.early_stop`."""


class MemberProcess:
    """A member that has been started; `end` is None while its `pitstop run` lives."""

    def __init__(
        self,
        member: Member,
        words: Sequence[str],
        environment: Mapping[str, str],
        output: MemberOutput,
        signal_mask: frozenset[signal.Signals],
    ) -> None:
        """Starts it; `EnvironmentFault` where the kernel refuses another process."""
        self.member = member
        self.end: MemberEnd | None = None
        self._output = output
        self._dismissed = False
        self._unheard: list[signal.Signals] = []
        nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
        streams = StandardStreams(output.streams.stdout, output.streams.stderr, nothing)
        try:
            self.pid = process.spawn(
                sys.executable,
                words,
                environment,
                streams=streams,
                signal_mask=signal_mask,
                own_session=False,
            )
        except OSError as error:
            raise process.explain_refusal(sys.executable, error) from error
        finally:
            os.close(nothing)
            output.started()

    def send(self, number: signal.Signals) -> None:
        """Hands a signal to its supervisor, as soon as that listens."""
        self._unheard.append(number)
        self.hand_on()

    def hand_on(self) -> bool:
        """Sends what was not heard yet; whether nothing is left.

        A process that has just been started would die of a signal, as of any other program's.
        """
        while self._unheard and self.end is None and self._listens(self._unheard[0]):
            signalling.send(self._unheard.pop(0), [self.pid])
        return not self._unheard

    def _listens(self, number: signal.Signals) -> bool:
        return all(heeds(self.pid, each) for each in (_LAST_HEEDED, number))

    def dismiss(self) -> None:
        """Asks it once to end, since the leader has."""
        if not self._dismissed:
            self._dismissed = True
            self.send(signal.SIGTERM)

    def kill(self) -> None:
        signalling.send(signal.SIGKILL, family.tree_of(self.pid))

    def ended(self, wait_status: int, since_seconds: float) -> MemberEnd:
        """Takes note of its end, and waits until its last lines are written.

        `since_seconds`: when the launch began, in seconds since the epoch.
        """
        self._output.drain()
        returned = os.waitstatus_to_exitcode(wait_status)
        code = _SIGNALLED - returned if returned < 0 else returned
        failed = code not in (EXIT_COMPLETED, EXIT_STOPPED) and not self._was_stopped(since_seconds)
        self.end = MemberEnd(code, failed, self._dismissed, self.member.leads)
        return self.end

    def _was_stopped(self, since_seconds: float) -> bool:
        """Whether a request ended its last attempt: what is not saved keeps its own exit code."""
        entries = journal.read(self.member.run_dir / JOURNAL_FILE).entries
        ends = [
            each.event
            for each in entries
            if isinstance(each.event, AttemptEnded) and each.time_seconds >= since_seconds
        ]
        return bool(ends) and ends[-1].state == State.STOPPED.value
