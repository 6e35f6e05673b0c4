"""What an interrupted run says of itself: what was saved, and what became of it.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pitstop.events import AttemptStarted, CheckpointCommitted, Event, LevelKnown, Notice

_REFUSED = "resume_refused"


@dataclass(frozen=True)
class Aftermath:
    """What stood when a run was interrupted, and what its resume said.

    Attributes:
        saved_step: of the newest checkpoint that stood; 0 when there was none.
        said: why the resume was refused, or why it is not exact; empty when it says neither.
    """

    saved_step: int = 0
    said: str = ""


NOTHING_TOLD = Aftermath()


def aftermath(events: Sequence[Event]) -> Aftermath:
    """What the events of a run tell of its last attempt."""
    begins = [place for place, event in enumerate(events) if isinstance(event, AttemptStarted)]
    last = begins[-1] if begins else 0
    saved = [event.step for event in events[:last] if isinstance(event, CheckpointCommitted)]
    return Aftermath(max(saved, default=0), _said(events[last:]))


def _said(events: Sequence[Event]) -> str:
    refused = [e.message for e in events if isinstance(e, Notice) and e.code == _REFUSED]
    levels = [e.reason for e in events if isinstance(e, LevelKnown) and e.level == "not_exact"]
    return next(iter(refused + levels[-1:]), "")
