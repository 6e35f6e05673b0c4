"""What a drill reads from an interrupted run."""

from __future__ import annotations

import pytest

from pitstop.drill.outcome import Aftermath, aftermath
from pitstop.events import AttemptStarted, CheckpointCommitted, Event, LevelKnown, Notice

_FIRST, _SECOND = (AttemptStarted(number, ["true"], 10, 11, "host") for number in (1, 2))
_SAVED = CheckpointCommitted(40, 0, "00000040", 1, 0.1, "cadence")
_LATER = CheckpointCommitted(80, 0, "00000080", 1, 0.1, "cadence")
_REFUSED = Notice("resume_refused", "The script changed.", "Undo it.")
_NOT_EXACT = LevelKnown("not_exact", "the clock decides", [])


@pytest.mark.parametrize(
    ("events", "expected"),
    [
        ([_FIRST, _SECOND], Aftermath(0, "")),
        ([_FIRST, _SAVED, _SECOND, _LATER], Aftermath(40, "")),
        ([_FIRST, _SAVED, _SECOND, _NOT_EXACT], Aftermath(40, "the clock decides")),
        ([_FIRST, _SAVED, _SECOND, _NOT_EXACT, _REFUSED], Aftermath(40, "The script changed.")),
        ([_FIRST, _NOT_EXACT, _SAVED, _SECOND], Aftermath(40, "")),
    ],
)
def test_aftermath(events: list[Event], expected: Aftermath) -> None:
    assert aftermath(events) == expected
