"""How long after a signal its sender kills: what is known of schedulers and wrappers.  Pure."""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from itertools import pairwise
from pathlib import PurePath

KUBERNETES_SECONDS = 30.0
"""`terminationGracePeriodSeconds` of a pod that names none; a pod cannot read its own."""

_KUBERNETES = "KUBERNETES_SERVICE_HOST"
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([smhd]?)")
_UNIT_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}


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
