"""Everything that happens in an attempt passes here: to disk, to memory, to the user."""

from __future__ import annotations

import time
from collections.abc import Callable

from pitstop.events import Event
from pitstop.supervisor.records import attempt_state, notices
from pitstop.supervisor.records.attempt_state import AttemptState
from pitstop.supervisor.records.journal_writer import JournalWriter

_JOURNAL_PROBLEM = "the journal cannot be written: {}. Training goes on; `why` will know less."


class EventLog:
    """The one door for events."""

    def __init__(self, recorder: JournalWriter, say: Callable[[str], None]) -> None:
        self.attempt_state = AttemptState()
        self._recorder = recorder
        self._say = say
        self._said_problem = False

    def record(self, event: Event) -> None:
        """Journals an event, remembers what matters of it, and tells the user."""
        self._recorder.record(event)
        self.attempt_state = attempt_state.tell(self.attempt_state, event, time.time())
        self.say(notices.line_for(event))
        if self._recorder.problem and not self._said_problem:
            self._said_problem = True
            self.say(_JOURNAL_PROBLEM.format(self._recorder.problem))

    def say(self, line: str) -> None:
        """Tells the user something that is no event; nothing when it is empty."""
        if line:
            self._say(line)
