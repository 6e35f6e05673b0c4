"""Signals as values in a queue, with their senders, which only `sigwaitinfo` in a thread tells."""

import contextlib
import enum
import os
import re
import signal
import socket
import threading
from collections import deque
from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import PurePath
from types import FrameType, MappingProxyType

from pitstop.events import StopRequested
from pitstop.record import Frozen

KUBERNETES_SECONDS = 30.0
"""`terminationGracePeriodSeconds` of a pod that names none; a pod cannot read its own."""

_KUBERNETES = "KUBERNETES_SERVICE_HOST"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
_FREE = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2")


class Action(enum.Enum):
    """What a signal does; the value is the name that the command line gives it."""

    STOP = "stop"
    NOW = "now"
    CHECKPOINT = "checkpoint"
    IGNORE = "ignore"


_USUAL: Mapping[signal.Signals, Action] = {
    signal.SIGINT: Action.STOP,
    signal.SIGTERM: Action.STOP,
    signal.SIGHUP: Action.STOP,
    signal.SIGUSR1: Action.STOP,
    signal.SIGUSR2: Action.CHECKPOINT,
}

SignalActions = Mapping[signal.Signals, Action]


def parse_action(text: str) -> tuple[signal.Signals, Action]:
    """A signal and its action, from `USR1=checkpoint`, `SIGUSR1=checkpoint`; or `ValueError`."""
    name, _, action = text.partition("=")
    name = name.strip().upper().removeprefix("SIG")
    actions = {each.value: each for each in Action}
    if name not in _FREE:
        raise ValueError(f"{text!r} does not name one of {', '.join(_FREE)}")
    if action.strip().lower() not in actions:
        raise ValueError(f"{text!r} does not name one of {', '.join(actions)}")
    return signal.Signals[f"SIG{name}"], actions[action.strip().lower()]


_SI_KERNEL = 0x80
_OTHERS = frozenset({signal.SIGCHLD, signal.SIGTSTP, signal.SIGWINCH})
_NEVER_IGNORED = frozenset({signal.SIGCHLD, signal.SIGWINCH})


class ReceivedSignal(Frozen):
    signal: signal.Signals
    sender_pid: int | None  # None if the kernel or the terminal sent it
    sender_uid: int | None
    from_terminal: bool
    action: Action | None = None  # None for a signal that does not concern the user

    @property
    def asks_to_stop(self) -> bool:
        return self.action in (Action.STOP, Action.NOW)


def stop_request(
    received: ReceivedSignal, sender_command: str, *, again: bool, seconds_left: float | None = None
) -> StopRequested:
    """The event of a signal that asks to stop.

    A Ctrl-C after an earlier request wants the end at once; a scheduler only repeats its SIGTERM,
    and timeout(1) sends each signal to its child and to the group of both.
    """
    repeats = received.signal is not signal.SIGINT or _is_timeout(sender_command.split())
    at_once = received.action is Action.NOW or (again and not repeats)
    return StopRequested(
        source="signal",
        urgency="now" if at_once else "graceful",
        signal=received.signal.name,
        sender_pid=received.sender_pid,
        sender_uid=received.sender_uid,
        sender_command=sender_command,
        from_terminal=received.from_terminal,
        seconds_left=seconds_left,
    )


def seconds_left(
    received: signal.Signals,
    sender_command: str,
    given_seconds: float | None,
    environment: Mapping[str, str],
) -> float | None:
    """The time from a signal to the SIGKILL that follows it; None when it is not known.

    `given_seconds`: as the user says for SIGTERM, 0 for no limit; None if nothing is said.
    """
    if received is signal.SIGTERM and given_seconds is not None:
        return given_seconds or None
    wrapper = _timeout_seconds(sender_command.split())
    if wrapper is not None:
        return wrapper
    in_pod = received is signal.SIGTERM and bool(environment.get(_KUBERNETES))
    return KUBERNETES_SECONDS if in_pod else None


def _timeout_seconds(words: list[str]) -> float | None:
    """What `timeout -k` was told, see timeout(1)."""
    if not _is_timeout(words):
        return None
    for word, following in pairwise([*words[1:], ""]):
        if word in ("-k", "--kill-after"):
            return _duration_seconds(following)
        for prefix in ("--kill-after=", "-k"):
            if word.startswith(prefix):
                return _duration_seconds(word.removeprefix(prefix))
        if _DURATION.fullmatch(word):
            # The time limit: what follows is the command.
            return None
    return None


def _is_timeout(words: list[str]) -> bool:
    return bool(words) and PurePath(words[0]).name == "timeout"


def _duration_seconds(text: str) -> float | None:
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNIT_SECONDS[found[2]] if found else None


def received_from(
    number: int, code: int, pid: int, uid: int, chosen: SignalActions = _USUAL
) -> ReceivedSignal:
    """The value of one `siginfo`; see sigaction(2) for `code`."""
    kernel = code == _SI_KERNEL
    return ReceivedSignal(
        signal.Signals(number),
        None if kernel or pid == 0 else pid,
        None if kernel or pid == 0 else uid,
        kernel and number != signal.SIGCHLD,
        {**_USUAL, **chosen}.get(signal.Signals(number)),
    )


def watched_signals(
    disposition: Callable[[signal.Signals], object] = signal.getsignal,
    chosen: SignalActions = MappingProxyType({}),
) -> frozenset[signal.Signals]:
    """The signals to wait for; an ignored one stays ignored, as under `nohup`, unless chosen."""
    watched = _OTHERS | _USUAL.keys() | chosen.keys()
    may_be_ignored = watched - _NEVER_IGNORED - chosen.keys()
    return watched - {each for each in may_be_ignored if disposition(each) == signal.SIG_IGN}


class SignalQueue:
    """Blocks the watched signals in this process and collects them; readable when there is one.

    Must be made in the main thread.  A thread that a library started before us may still get one:
    ordinary handlers catch it there, which only do not know the sender.
    """

    def __init__(self, chosen: SignalActions = MappingProxyType({})) -> None:
        self._chosen = chosen
        self._watched = watched_signals(chosen=chosen)
        self._received: deque[ReceivedSignal] = deque()
        self._closing = False
        self._wake_in, self._wake_out = socket.socketpair()
        self._wake_out.setblocking(False)
        # Also undoes an inherited "ignore", with which the kernel would drop
        # our children's exits.
        self._handlers = {each: signal.signal(each, self._on_stray) for each in self._watched}
        self._wakeup_fd = signal.set_wakeup_fd(self._wake_out.fileno(), warn_on_full_buffer=False)
        self.original_mask = frozenset(
            signal.Signals(each) for each in signal.pthread_sigmask(signal.SIG_BLOCK, self._watched)
        )
        self.blocked_mask = self.original_mask | self._watched
        self._thread = threading.Thread(target=self._wait, name="pitstop-signals", daemon=True)
        self._thread.start()

    def fileno(self) -> int:
        return self._wake_in.fileno()

    def take(self) -> list[ReceivedSignal]:
        self._wake_in.recv(1 << 12)
        return [self._received.popleft() for _ in range(len(self._received))]

    def close(self) -> None:
        self._closing = True
        signal.pthread_kill(self._thread.ident or 0, signal.SIGCHLD)
        self._thread.join()
        for each, handler in self._handlers.items():
            signal.signal(each, handler)
        signal.set_wakeup_fd(self._wakeup_fd)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.original_mask)
        self._wake_in.close()
        self._wake_out.close()

    def _on_stray(self, number: int, _frame: FrameType | None) -> None:
        self._received.append(received_from(number, 0, 0, 0, self._chosen))

    def _wait(self) -> None:
        while True:
            info = signal.sigwaitinfo(self._watched)
            if self._closing:
                return
            sender = (info.si_code, info.si_pid, info.si_uid)
            self._received.append(received_from(info.si_signo, *sender, self._chosen))
            with contextlib.suppress(BlockingIOError):  # it is awake already
                self._wake_out.send(b"!")


def suspend_self() -> None:
    os.kill(os.getpid(), signal.SIGSTOP)
