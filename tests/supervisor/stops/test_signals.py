"""Signals as values."""

from __future__ import annotations

import signal

import pytest

from pitstop.supervisor.stops.signals import (
    Action,
    ReceivedSignal,
    parse_action,
    received_from,
    stop_request,
    watched_signals,
)

_KERNEL, _USER = 0x80, 0


def test_control_c_comes_from_the_terminal_and_from_nobody() -> None:
    assert received_from(signal.SIGINT, _KERNEL, 0, 0) == ReceivedSignal(
        signal.SIGINT, None, None, True, Action.STOP
    )


def test_kill_names_its_sender() -> None:
    received = received_from(signal.SIGTERM, _USER, 42, 1000)
    assert received == ReceivedSignal(signal.SIGTERM, 42, 1000, False, Action.STOP)


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
    event = stop_request(received_from(number, _USER, 42, 0), "kill -2", again=again)
    assert (event.urgency, event.signal, event.sender_command) == (urgency, number.name, "kill -2")


def test_timeout_that_sends_its_signal_twice_asks_once() -> None:
    # To its child, and to the process group of both: coreutils, timeout.c, `cleanup`.
    received = received_from(signal.SIGINT, _USER, 42, 0)
    event = stop_request(received, "/usr/bin/timeout -s INT 4h pitstop run", again=True)
    assert event.urgency == "graceful"


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


def test_one_that_was_ignored_and_is_chosen_is_watched() -> None:
    actions = dict(map(parse_action, ["HUP=stop", "QUIT=now"]))
    watched = watched_signals(lambda _: signal.SIG_IGN, actions)
    assert {signal.SIGHUP, signal.SIGQUIT} <= watched
    assert signal.SIGTERM not in watched


def test_what_the_user_chose_is_what_a_signal_does() -> None:
    actions = dict(map(parse_action, ["QUIT=now", "TERM=checkpoint"]))
    quits = received_from(signal.SIGQUIT, _USER, 42, 0, actions)
    assert stop_request(quits, "", again=False).urgency == "now"
    assert not received_from(signal.SIGTERM, _USER, 42, 0, actions).asks_to_stop


def test_the_time_that_is_left_is_part_of_the_request() -> None:
    received = received_from(signal.SIGTERM, _USER, 42, 0)
    assert stop_request(received, "", again=False, seconds_left=10.0).seconds_left == 10.0
