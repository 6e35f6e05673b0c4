"""The user says what a signal does."""

from __future__ import annotations

import signal

import pytest

from pitstop.supervisor.stops.signals import Action, SignalActions, parse_action


@pytest.mark.parametrize("text", ["USR1=checkpoint", "SIGUSR1=checkpoint", " usr1 = Checkpoint "])
def test_a_signal_is_named_as_people_do(text: str) -> None:
    assert parse_action(text) == (signal.SIGUSR1, Action.CHECKPOINT)


@pytest.mark.parametrize("text", ["", "USR1", "USR1=", "KILL=stop", "CHLD=ignore", "USR1=retry"])
def test_what_is_none_is_refused_by_name(text: str) -> None:
    with pytest.raises(ValueError, match="names none of"):
        parse_action(text)


def test_what_is_not_chosen_is_as_usual() -> None:
    actions = SignalActions.from_texts(["HUP=ignore", "QUIT=now", "HUP=checkpoint"])
    assert actions.of(signal.SIGHUP) is Action.CHECKPOINT
    assert actions.of(signal.SIGQUIT) is Action.NOW
    assert actions.of(signal.SIGTERM) is Action.STOP
    assert actions.of(signal.SIGUSR2) is Action.CHECKPOINT
    assert actions.of(signal.SIGCHLD) is None
