"""A Windows console's events take the way of signals."""

from __future__ import annotations

import subprocess
import sys

import pytest

from pitstop.supervisor.console import ConsoleEvent
from pitstop.supervisor.signal_actions import SignalActions
from pitstop.supervisor.signals import received_from_console
from pitstop.supervisor.stop_policy import StopPolicy

_PROGRAM = """
import select, sys, threading
from pitstop.supervisor.console import ConsoleEvent
from pitstop.supervisor.signals import SignalQueue
from pitstop.supervisor.stop_policy import StopPolicy
queue = SignalQueue()
event = ConsoleEvent[sys.argv[1]]
threading.Thread(target=queue.console_event, args=(event,)).start()
select.select([queue], [], [], 30)
[received] = queue.take()
queue.close()
asked = StopPolicy().request(received, "", {}, again=len(sys.argv) > 2)
print(asked.signal, asked.urgency, asked.seconds_left)
"""


@pytest.mark.parametrize(
    ("event", "again", "asked"),
    [
        ("CTRL_C", (), "SIGINT graceful None"),
        ("CTRL_C", ("again",), "SIGINT now None"),
        ("CTRL_BREAK", (), "SIGTERM graceful None"),
        ("CLOSE", (), "SIGHUP graceful 5.0"),
        ("SHUTDOWN", (), "SIGTERM graceful 20.0"),
    ],
)
def test_an_event_wakes_the_supervisor_and_asks_for_a_stop(
    event: str, again: tuple[str, ...], asked: str
) -> None:
    shown = subprocess.run(
        [sys.executable, "-c", _PROGRAM, event, *again],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert shown.stdout.strip() == asked


def test_what_the_user_chose_for_the_signal_counts() -> None:
    actions = SignalActions.from_texts(["HUP=ignore"])
    assert not received_from_console(ConsoleEvent.CLOSE, actions).asks_to_stop
    assert received_from_console(ConsoleEvent.LOGOFF, actions).asks_to_stop


def test_the_console_s_own_time_counts_before_what_is_known_of_signals() -> None:
    policy = StopPolicy(kill_after_seconds=600.0)
    received = received_from_console(ConsoleEvent.LOGOFF)
    assert policy.request(received, "", {}, again=False).seconds_left == 5.0
