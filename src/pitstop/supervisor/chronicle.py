"""Everything that happens in an attempt passes here: to disk, to memory, to the user."""

from __future__ import annotations

import time
from collections.abc import Callable

from pitstop.events import Event
from pitstop.supervisor import notices, story
from pitstop.supervisor.recorder import Recorder
from pitstop.supervisor.story import Story

_JOURNAL_PROBLEM = "the journal cannot be written: {}. Training goes on; `why` will know less."


class Chronicle:
    """The one door for events.

    Attributes:
        story: what has happened so far.
    """

    def __init__(self, recorder: Recorder, say: Callable[[str], None]) -> None:
        self.story = Story()
        self._recorder = recorder
        self._say = say
        self._said_problem = False

    def record(self, event: Event) -> None:
        """Journals an event, remembers what matters of it, and tells the user."""
        self._recorder.record(event)
        self.story = story.tell(self.story, event, time.time())
        self.say(notices.line_for(event))
        if self._recorder.problem and not self._said_problem:
            self._said_problem = True
            self.say(_JOURNAL_PROBLEM.format(self._recorder.problem))

    def say(self, line: str) -> None:
        """Tells the user something that is no event; nothing when it is empty."""
        if line:
            self._say(line)
