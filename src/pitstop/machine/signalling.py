"""Signals: their names, and sending them to processes of any owner."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Collection


def send(number: signal.Signals, pids: Collection[int]) -> None:
    """Sends a signal to each; those that are gone by then, or another user's, are passed over."""
    for pid in pids:
        # Of another user: what the script has started with sudo.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


def send_to_group(number: signal.Signals, leader_pid: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(leader_pid, number)


def signal_name(number: int) -> str:
    """`SIGKILL` for 9; `SIG41` for one without a name."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"SIG{number}"
