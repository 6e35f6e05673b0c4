"""Signals that the kernel hands to a thread which blocks nothing still arrive."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import select, signal, sys, threading
idle = threading.Event()
stray = threading.Thread(target=idle.wait, daemon=True)
stray.start()                       # before the queue: it blocks nothing
from pitstop.supervisor.stops.signals import SignalQueue
queue = SignalQueue()
signal.pthread_kill(stray.ident, signal.Signals[sys.argv[1]])
select.select([queue], [], [], 30)
print([received.signal.name for received in queue.take()])
queue.close()
"""


@pytest.mark.parametrize("name", ["SIGTERM", "SIGINT", "SIGHUP", "SIGUSR2", "SIGCHLD"])
def test_a_signal_to_another_thread_is_in_the_queue(name: str) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", PROGRAM, name],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    # SIGCHLD only has to wake the loop, which then looks for ended children.
    assert shown.stdout.strip() == f"['{name}']"
