"""One member's `pitstop run` as a process, from its start to how it ended."""

import contextlib
import os
import re
import signal
import sys
import threading
from collections.abc import Mapping, Sequence

from pitstop import journal
from pitstop.cluster.spec import ASSEMBLING
from pitstop.errors import PitstopError
from pitstop.events import AttemptEnded, Event, LeaderFound, MemberJoined, Notice
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_REFUSED, EXIT_SIGNALLED, EXIT_STOPPED
from pitstop.journal import Journal
from pitstop.launch.plan import Member
from pitstop.machine import own_process
from pitstop.machine.own_process import heeds, is_suspended
from pitstop.plain_text import PREFIX
from pitstop.record import Frozen
from pitstop.store.run_folder import JOURNAL_FILE, open_existing
from pitstop.supervisor.control.live_run import status_of
from pitstop.supervisor.lifecycle.table import State
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.process import StandardStreams
from pitstop.supervisor.terminal.output import OutputPipes, our_channels
from pitstop.supervisor.terminal.screen import write_all


class MemberEnd(Frozen):
    """How the `pitstop run` of one member ended."""

    exit_code: int  # 128 + signal number when it was killed
    failed: bool = False
    dismissed: bool = False  # told to end because another member had ended
    assembling: bool = False  # it waited for all others until the end
    leads: bool = False  # its end ends the training
    needed: bool = False  # all end with it
    idle: bool = False  # its training had completed before
    alone: bool = False  # stopped before it had reached another member, which waits for it
    evaluates: bool = False  # it may wait for checkpoints forever, and is no part of the training

    def __str__(self) -> str:
        if self.exit_code == EXIT_COMPLETED:
            return "completed"
        how = "was stopped because another member had ended" if self.dismissed else "stopped"
        return f"{'failed' if self.failed else how} (exit code {self.exit_code})"


def exit_code(ends: Sequence[MemberEnd]) -> int:
    """The launch's exit code, from all ends in time: the leader's, or the first failed member's.

    A leader that has only waited for the others does not count.  Nor does one that was stopped
    because a script failed: 75 asks for another run, which would fail again.  A member that waited
    for one that had completed before would wait again.
    """
    waits = any(each.assembling or (each.leads and each.dismissed) for each in ends)
    if waits and any(each.idle for each in ends):
        return EXIT_REFUSED
    leaders = [each.exit_code for each in ends if each.leads and not each.assembling]
    failures = [each.exit_code for each in ends if each.failed and not each.dismissed]
    over = [each for each in ends if each.dismissed and each.evaluates]
    stopped = [EXIT_STOPPED for each in ends if each.exit_code == EXIT_STOPPED and each not in over]
    own = [code for code in failures[:1] if code < EXIT_SIGNALLED and leaders == [EXIT_STOPPED]]
    unsaved = [each.exit_code for each in ends if each.needed and not each.dismissed]
    return next(filter(None, [*own, *leaders, *failures, *stopped, *unsaved]), EXIT_COMPLETED)


def dismissal(name: str, end: MemberEnd) -> Notice:
    """Why the launch ends other members: this one has ended, without which they would wait."""
    if end.idle:
        return Notice(MEMBER_OVER, f"{name} had completed in an earlier launch", _OVER)
    return Notice(MEMBER_DISMISSED, f"{name} {end}", f"Run `pitstop why` on the run of {name}.")


_LONGEST_LINE_BYTES = 1 << 20
_OVERWRITES = re.compile(rb"\r(?=[^\r\n])")


def prefixed(prefix: bytes, line: bytes) -> bytes:
    """The line after the prefix, which stays where a progress bar writes over its line."""
    return prefix + _OVERWRITES.sub(b"\r" + prefix, line.removesuffix(b"\n")) + b"\n"


class Terminal:
    """Our own output: lines of several threads do not mix."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    def write(self, fd: int, data: bytes) -> None:
        with self._lock, contextlib.suppress(OSError):
            write_all(fd, data)

    def say(self, line: str) -> None:
        self.write(2, f"{PREFIX}{line}\n".encode())


class MemberOutput(OutputPipes):
    def __init__(self, prefix: str, terminal: Terminal) -> None:
        super().__init__()
        self._prefix = prefix.encode()
        self._terminal = terminal
        for channel in our_channels():
            self._add(channel, *os.pipe(), "pitstop-member")

    def _copy(self, source: int, target: int) -> None:
        with os.fdopen(source, "rb") as pipe:
            # A line that never ends comes in parts.
            while line := pipe.readline(_LONGEST_LINE_BYTES):
                self._terminal.write(target, prefixed(self._prefix, line))


MEMBER_DISMISSED, MEMBER_OVER = "member_dismissed", "member_over"  # codes of notices
_OVER = "The training is over. Start all members over with --new to train again."
_SUSPENDED = "The run was suspended, and was killed because another member had ended."
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
        self._dismissed: Notice | None = None  # why
        self._suspended = False
        self._last_phase = ""
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
        """Sends a signal to its supervisor, as soon as that handles signals."""
        self._unheard.append(number)
        self.hand_on()

    def hand_on(self) -> bool:
        """Sends pending signals, unless they would kill it; returns whether none is left."""
        while self._unheard and self.end is None:
            if not all(heeds(self.pid, each) for each in (_LAST_HEEDED, self._unheard[0])):
                break
            own_process.send(self._unheard.pop(0), [self.pid])
        return not self._unheard

    @property
    def phase(self) -> str:
        """What it does, or did when it was dismissed."""
        if not self._dismissed:
            with contextlib.suppress(PitstopError):
                return status_of(open_existing(self.member.run_dir)).phase
        return self._last_phase

    def dismiss(self, reason: Notice) -> None:
        """Asks it once to end, because the leader or a member that it waits for has ended."""
        if self._dismissed is None:
            self._last_phase, self._dismissed = self.phase, reason
            self.send(signal.SIGTERM)

    def kill(self) -> None:
        self._suspended = is_suspended(self.pid)
        own_process.send(signal.SIGKILL, family.tree_of(self.pid))

    def ended(self, wait_status: int, since_seconds: float) -> MemberEnd:
        """Waits until its last lines are written; `since_seconds`: the begin of the launch."""
        self._output.drain()
        returned = os.waitstatus_to_exitcode(wait_status)
        code = EXIT_SIGNALLED - returned if returned < 0 else returned
        happened = self._events(since_seconds)
        states = [each.state for each in happened if isinstance(each, AttemptEnded)]
        # What is not saved keeps its own exit code when a request ended it.
        was_stopped = states[-1:] == [State.STOPPED.value]
        failed = code not in (EXIT_COMPLETED, EXIT_STOPPED) and not was_stopped
        met = any(isinstance(each, LeaderFound | MemberJoined) for each in happened)
        evaluates = self.member.evaluates
        if self._suspended:
            self._record(Notice("member_suspended", _SUSPENDED))
        elif self._dismissed:
            self._record(self._dismissed)
        self.end = MemberEnd(
            code,
            failed=failed,
            dismissed=bool(self._dismissed),
            assembling=self._last_phase == ASSEMBLING,
            leads=self.member.leads,
            needed=self.member.needed,
            idle=code == EXIT_COMPLETED and not states,
            alone=was_stopped and not (met or evaluates),
            evaluates=evaluates,
        )
        return self.end

    def _record(self, notice: Notice) -> None:
        """Records what the member itself cannot: why the launch has ended it."""
        path = self.member.run_dir / JOURNAL_FILE
        attempts = [each.attempt for each in journal.read(path).entries]
        # Without a journal it only ends unexplained.
        with contextlib.suppress(OSError), Journal(path, max(attempts, default=1)) as record:
            record.append(notice, durable=True)

    def _events(self, since_seconds: float) -> list[Event]:
        entries = journal.read(self.member.run_dir / JOURNAL_FILE).entries
        return [each.event for each in entries if each.time_seconds >= since_seconds]
