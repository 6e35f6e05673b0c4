"""What, besides a command, stops a run, and how much time there is then."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from pathlib import PurePath

from pitstop.events import StopRequested
from pitstop.record import record
from pitstop.supervisor.stops.signals import ReceivedSignal, SignalActions, stop_request

KUBERNETES_SECONDS = 30.0
"""`terminationGracePeriodSeconds` of a pod that names none; a pod cannot read its own."""

_KUBERNETES = "KUBERNETES_SERVICE_HOST"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
PREEMPTION_CHOICES = ("auto", "none", "gce", "aws", "azure")
"""Of the machine's firmware, nobody's, or one of `preemption.cloud.CLOUDS`."""


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
    if not words or PurePath(words[0]).name != "timeout":
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


def _duration_seconds(text: str) -> float | None:
    found = _DURATION.fullmatch(text)
    return float(found[1]) * _UNIT_SECONDS[found[2]] if found else None


@record
class StopPolicy:
    """What the user has chosen.

    Attributes:
        preemption: whose notices are followed, one of `PREEMPTION_CHOICES`.
        stops_under_pressure: memory or disk that gets short stops the run; else it
            is saved, and goes on.
        kill_after_seconds: from a SIGTERM to the SIGKILL that follows, 0 for none;
            None if nothing is known.
    """

    preemption: str = "auto"
    stops_under_pressure: bool = False
    signals: SignalActions = field(default_factory=dict)
    kill_after_seconds: float | None = None

    def request(
        self,
        received: ReceivedSignal,
        sender_command: str,
        environment: Mapping[str, str],
        *,
        again: bool,
    ) -> StopRequested:
        """The event of a signal that asks to stop; `again`: somebody has asked before."""
        left = seconds_left(received.signal, sender_command, self.kill_after_seconds, environment)
        return stop_request(received, sender_command, again=again, seconds_left=left)
