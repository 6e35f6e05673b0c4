"""What was run, where, and with what, in a few words each.  Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from pitstop.diagnosis import Evidence, phrases
from pitstop.events import AttemptStarted, LevelKnown, TrainerConnected

Fact = tuple[str, str]
"""A name and a value."""

_LONGEST = 300


def facts(evidence: Evidence) -> tuple[Fact, ...]:
    """The facts of an attempt that its journal tells."""
    return tuple(_facts(evidence))


def _facts(evidence: Evidence) -> Iterator[Fact]:
    started, connected = evidence.first(AttemptStarted), evidence.last(TrainerConnected)
    level = evidence.last(LevelKnown)
    if started is not None:
        yield "command", phrases.shorten(shlex.join(started.command), _LONGEST)
        yield "host", started.host
    if connected is not None:
        versions = {"python": connected.python.partition(" ")[0], **connected.versions}
        yield "versions", ", ".join(f"{name} {version}" for name, version in versions.items())
    if level is not None:
        reason = f" ({level.reason})" if level.reason else ""
        yield "a resume is", f"{level.level.replace('_', ' ')}{reason}"
