"""The user says what a signal does."""

from __future__ import annotations

import signal

import pytest

from pitstop.supervisor.stops.signals import Action, parse_action, received_from


@pytest.mark.parametrize("text", ["USR1=checkpoint", "SIGUSR1=checkpoint", " usr1 = Checkpoint "])
def test_a_signal_is_named_as_people_do(text: str) -> None:
    assert parse_action(text) == (signal.SIGUSR1, Action.CHECKPOINT)


@pytest.mark.parametrize("text", ["", "USR1", "USR1=", "KILL=stop", "CHLD=ignore", "USR1=retry"])
def test_what_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="does not name one of"):
        parse_action(text)


def test_what_is_not_chosen_is_as_usual() -> None:
    actions = dict(map(parse_action, ["HUP=ignore", "QUIT=now", "HUP=checkpoint"]))
    assert received_from(signal.SIGHUP, 0, 7, 7, actions).action is Action.CHECKPOINT
    assert received_from(signal.SIGQUIT, 0, 7, 7, actions).action is Action.NOW
    assert received_from(signal.SIGTERM, 0, 7, 7, actions).action is Action.STOP
    assert received_from(signal.SIGUSR2, 0, 7, 7, actions).action is Action.CHECKPOINT
    assert received_from(signal.SIGCHLD, 0, 7, 7, actions).action is None
