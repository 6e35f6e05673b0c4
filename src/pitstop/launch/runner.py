"""Starts the members, hands signals on to them, and collects how they ended."""

import math
import os
import select
import signal
import socket
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing

from pitstop.cluster.spec import ASSEMBLING
from pitstop.events import Notice
from pitstop.exit_codes import EXIT_COMPLETED, EXIT_STOPPED
from pitstop.launch import member_process
from pitstop.launch.plan import HOST, Member
from pitstop.machine import own_process
from pitstop.machine.own_process import is_running, is_suspended
from pitstop.record import Frozen
from pitstop.supervisor.processes import family, process
from pitstop.supervisor.processes.process import Exit
from pitstop.supervisor.stops.signals import (
    ReceivedSignal,
    SignalActions,
    SignalQueue,
    suspend_self,
)

_LOOK_SECONDS = 0.5
_ALONE_SECONDS = 5.0
_FOR_LEADER = ("server", "member", "monitored_session", "session")
"""The phases of members that can do nothing without their leader."""
_SAVE_SECONDS = 60.0
"""What a member may take, after its own grace, to save after it was told to end."""
_STARTING_SECONDS = 0.02
_SUSPEND_SECONDS = 2.0
_UNHEARD = (signal.SIGCHLD, signal.SIGWINCH)


class LaunchRequest(Frozen):
    members: tuple[Member, ...]  # the leader first
    command: tuple[str, ...]
    options: tuple[str, ...]
    environment: Mapping[str, str]
    linger_seconds: float  # for the others, after the leader has ended
    grace_seconds: float  # after that, for a stop and a save
    signals: SignalActions


def free_ports(count: int) -> list[int]:
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server((HOST, 0))) for _ in range(count)]
        return [each.getsockname()[1] for each in sockets]


def launch_members(request: LaunchRequest, terminal: member_process.Terminal) -> int:
    """Runs the members to their ends; the exit code.  `EnvironmentFault` for no more processes.

    Must be called in the main thread of a process that does nothing else.
    """
    process.adopt_orphans()
    with closing(SignalQueue(request.signals)) as signals:
        launcher = _Launcher(request, terminal, signals)
        try:
            launcher.start()
            launcher.wait()
        finally:
            launcher.end_all()
        return member_process.exit_code(launcher.ends)


class _Launcher:
    """The members that have been started; `ends` in the order of time."""

    def __init__(
        self, request: LaunchRequest, terminal: member_process.Terminal, signals: SignalQueue
    ) -> None:
        self._request = request
        self._terminal = terminal
        self._signals = signals
        self._began_seconds = time.time()
        self._dismiss_at = math.inf
        self._dismissal = Notice(member_process.MEMBER_DISMISSED, "another member ended")
        self._evaluators_at = math.inf  # when evaluators are dismissed at the latest
        # Those who do this wait without end: for a member that has ended.
        self._ended_phases: set[str] = set()
        self._members: list[member_process.MemberProcess] = []
        self.ends: list[member_process.MemberEnd] = []

    @property
    def _living(self) -> list[member_process.MemberProcess]:
        return [each for each in self._members if each.end is None]

    def start(self) -> None:
        request = self._request
        options = ["--launcher-pid", str(os.getpid()), *request.options]
        for member in request.members:
            words = process.pitstop_run(member.run_dir, options, request.command)
            environment = {**request.environment, **member.environment}
            output = member_process.MemberOutput(member.prefix, self._terminal)
            mask = self._signals.original_mask
            self._members.append(
                member_process.MemberProcess(member, words, environment, output, mask)
            )

    def wait(self) -> None:
        while self._living:
            unheard = [each for each in self._living if not each.hand_on()]
            pause_seconds = _STARTING_SECONDS if unheard else _LOOK_SECONDS
            if select.select([self._signals], [], [], pause_seconds)[0]:
                for received in self._signals.take():
                    self._on_signal(received)
            for ended in process.reap():
                self._on_exit(ended)
            self._dismiss()

    def end_all(self) -> None:
        """Ends all processes that the members started; those that still save get some time."""
        for each in self._living:
            each.send(signal.SIGTERM)
        give_up_at = time.monotonic() + self._request.grace_seconds + _SAVE_SECONDS
        while remaining := family.living_descendants(()):
            if time.monotonic() >= give_up_at:
                own_process.send(signal.SIGKILL, remaining)
            time.sleep(_STARTING_SECONDS)
            for each in self._living:
                each.hand_on()
            for ended in process.reap():
                self._on_exit(ended)

    def _on_signal(self, received: ReceivedSignal) -> None:
        if received.signal is signal.SIGTSTP:
            self._suspend()
        elif received.signal not in _UNHEARD:
            for each in self._living:
                each.send(received.signal)

    def _suspend(self) -> None:
        """Suspends all members, as Ctrl-Z would; all continue together."""
        own_process.send(signal.SIGTSTP, [each.pid for each in self._living])
        give_up_at = time.monotonic() + _SUSPEND_SECONDS
        while time.monotonic() < give_up_at and any(is_running(e.pid) for e in self._living):
            time.sleep(0.01)
        suspend_self()
        own_process.send(signal.SIGCONT, [each.pid for each in self._living])

    def _on_exit(self, ended: Exit) -> None:
        member = next((each for each in self._living if each.pid == ended.pid), None)
        if member is None:
            return
        self.ends.append(member.ended(ended.wait_status, self._began_seconds))
        self._terminal.say(f"{member.member.name} {self.ends[-1]}.")
        before = self._waits
        self._wait_no_longer(member, self.ends[-1], ended.wait_status)
        if self._waits != before:
            self._dismissal = member_process.dismissal(member.member.name, self.ends[-1])

    @property
    def _waits(self) -> tuple[object, ...]:
        return self._dismiss_at, self._evaluators_at, len(self._ended_phases)

    def _wait_no_longer(
        self, member: member_process.MemberProcess, end: member_process.MemberEnd, wait_status: int
    ) -> None:
        """Decides who is dismissed for the end of a member, and when."""
        if member.member.needed and (end.exit_code != EXIT_COMPLETED or end.idle):
            self._ended_phases.add(ASSEMBLING)
        if end.leads and end.idle:
            self._ended_phases.update(_FOR_LEADER)
        if member.member.needed and os.WIFSIGNALED(wait_status):
            # Its supervisor has told nobody, and is not started again.
            self._dismiss_at = time.monotonic()
        elif end.alone and any(each.member.stores for each in self._members):
            # The others wait for it without end, unless they were asked to stop as well.
            self._dismiss_at = min(self._dismiss_at, time.monotonic() + _ALONE_SECONDS)
        elif end.leads and end.exit_code == EXIT_STOPPED:
            # An evaluator that is no member, as Keras' own, would look for checkpoints without end.
            self._evaluators_at = time.monotonic() + _ALONE_SECONDS
            self._linger()
        elif end.leads or (member.member.stores and (end.failed or end.idle)):
            # Nobody can train without its variables; the leader may wait for it without end.
            self._linger()

    def _linger(self) -> None:
        lingers_until = time.monotonic() + self._request.linger_seconds
        self._dismiss_at = min(self._dismiss_at, lingers_until)

    def _dismiss(self) -> None:
        """Ends members that remain too long after the end of the leader, or of one that all need.

        A suspended one does not react, and is killed.  Members that wait for one that has ended
        would wait for ever: servers and sessions, if their leader had ended before this launch.
        """
        over_seconds = time.monotonic() - self._dismiss_at
        is_over, patience_seconds = self._dismiss_at < math.inf, self._request.grace_seconds
        for each in self._living:
            suspended = is_over and is_suspended(each.pid)
            if suspended or over_seconds >= patience_seconds + _SAVE_SECONDS:
                each.kill()
            elif over_seconds >= 0 or self._waits_in_vain(each):
                each.dismiss(self._dismissal)

    def _waits_in_vain(self, each: member_process.MemberProcess) -> bool:
        if each.member.evaluates and time.monotonic() >= self._evaluators_at:
            return True
        return bool(self._ended_phases) and each.phase in self._ended_phases
