"""How long it is from a signal to the kill."""

from __future__ import annotations

import signal

import pytest

from pitstop.supervisor.stops.signals import seconds_left

_POD = {"KUBERNETES_SERVICE_HOST": "10.0.0.1"}
_TERM, _INT = signal.SIGTERM, signal.SIGINT


def test_nothing_is_known_of_a_plain_kill() -> None:
    assert seconds_left(_TERM, "bash", None, {}) is None


@pytest.mark.parametrize(
    ("command", "seconds"),
    [
        ("timeout -k 10 4h pitstop run", 10.0),
        ("/usr/bin/timeout --signal=INT -k 1.5m 4h pitstop run", 90.0),
        ("timeout -s USR1 --kill-after=2h 4h pitstop run", 7200.0),
        ("timeout --kill-after 7 4h pitstop run", 7.0),
        ("timeout -k5 4h pitstop run", 5.0),
        ("timeout 4h pitstop run -- python train.py -k 10", None),
        ("timeout -k soon 4h pitstop run", None),
        ("timeout", None),
        ("python timeout.py -k 3", None),
    ],
)
def test_timeout_says_it_on_its_command_line(command: str, seconds: float | None) -> None:
    assert seconds_left(_TERM, command, None, {}) == seconds
    assert seconds_left(_INT, command, None, {}) == seconds


def test_a_pod_has_half_a_minute_unless_the_user_knows_better() -> None:
    assert seconds_left(_TERM, "", None, _POD) == 30.0
    assert seconds_left(_TERM, "", 600.0, _POD) == 600.0
    assert seconds_left(_TERM, "", 0.0, _POD) is None
    assert seconds_left(_INT, "", None, _POD) is None


def test_what_the_user_says_is_said_of_sigterm() -> None:
    assert seconds_left(_TERM, "timeout -k 10 4h x", 20.0, {}) == 20.0
    assert seconds_left(_INT, "", 20.0, {}) is None
