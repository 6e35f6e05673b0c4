"""Signals as values."""

from __future__ import annotations

import signal

import pytest

from pitstop.supervisor.signals import Received, received_from, stop_request, watched_signals

_KERNEL, _USER = 0x80, 0


def test_control_c_comes_from_the_terminal_and_from_nobody() -> None:
    assert received_from(signal.SIGINT, _KERNEL, 0, 0) == Received(signal.SIGINT, None, None, True)


def test_kill_names_its_sender() -> None:
    received = received_from(signal.SIGTERM, _USER, 42, 1000)
    assert received == Received(signal.SIGTERM, 42, 1000, False)


def test_child_s_exit_asks_for_nothing() -> None:
    assert not received_from(signal.SIGCHLD, 1, 42, 0).asks_to_stop


@pytest.mark.parametrize(
    ("number", "again", "urgency"),
    [
        (signal.SIGINT, False, "graceful"),
        (signal.SIGINT, True, "now"),
        (signal.SIGTERM, True, "graceful"),
        (signal.SIGHUP, True, "graceful"),
        (signal.SIGUSR1, True, "graceful"),
    ],
)
def test_only_a_second_interrupt_wants_the_end_at_once(
    number: signal.Signals, again: bool, urgency: str
) -> None:
    event = stop_request(Received(number, 42, 0, False), "kill -2", again=again)
    assert (event.urgency, event.signal, event.sender_command) == (urgency, number.name, "kill -2")


@pytest.mark.parametrize(("number", "stops"), [(signal.SIGUSR1, True), (signal.SIGUSR2, False)])
def test_the_user_s_signals_are_watched_and_one_of_them_stops(
    number: signal.Signals, stops: bool
) -> None:
    assert number in watched_signals(lambda _: signal.SIG_DFL)
    assert received_from(number, _USER, 42, 0).asks_to_stop is stops


def test_signals_ignored_at_the_start_are_left_alone() -> None:
    ignored = {signal.SIGHUP, signal.SIGINT, signal.SIGUSR1, signal.SIGUSR2}
    watched = watched_signals(lambda s: signal.SIG_IGN if s in ignored else signal.SIG_DFL)
    assert not watched & ignored
    assert {signal.SIGTERM, signal.SIGCHLD} <= watched
