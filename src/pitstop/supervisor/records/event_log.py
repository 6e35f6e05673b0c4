"""Takes each event of an attempt: to disk, to memory, to the user."""

import time
from collections import deque
from collections.abc import Callable
from pathlib import Path

from pitstop import events
from pitstop.events import Event
from pitstop.journal import Journal
from pitstop.supervisor.records import attempt_state, notices
from pitstop.supervisor.records.attempt_state import AttemptState

_MOST_KEPT = 1000
_NOTHING_KNOWN = AttemptState()
# What a diagnosis cannot do without is on disk before anything else happens.
_DURABLE = (
    events.AttemptEnded,
    events.AttemptStarted,
    events.CheckpointCommitted,
    events.ExceptionRaised,
    events.ResumeChosen,
    events.StopRequested,
    events.TrainerExited,
    events.TrainerStopped,
    events.TrainingStalled,
)
_JOURNAL_PROBLEM = "the journal cannot be written: {}. Training continues; `why` will know less."


class EventLog:
    """Records all events; those that the disk refuses are tried again later, in their order."""

    def __init__(
        self,
        path: Path,
        attempt: int,
        say: Callable[[str], None],
        state: AttemptState = _NOTHING_KNOWN,
    ) -> None:
        """Opens the journal, or raises `OSError`; `state`: what the attempts before have left."""
        self.attempt_state = state
        self.problem = ""
        self._journal = Journal(path, attempt)
        self._waiting: deque[tuple[float, Event]] = deque(maxlen=_MOST_KEPT)
        self._say = say
        self._said_problem = False
        self._reason = ""

    def record(self, event: Event) -> None:
        self._waiting.append((time.time(), event))
        durable = isinstance(event, _DURABLE)
        try:
            while self._waiting:
                seconds, first = self._waiting[0]
                self._journal.append(first, durable=durable, time_seconds=seconds)
                self._waiting.popleft()
            self.problem = ""
        except OSError as error:
            self.problem = error.strerror or str(error)
        known = self._is_known(event)
        self.attempt_state = attempt_state.tell(self.attempt_state, event, time.time())
        if isinstance(event, events.LevelKnown | events.Restored):
            self._reason = event.reason
        if not known and (line := notices.line_for(event)):
            self._say(line)
        if self.problem and not self._said_problem:
            self._said_problem = True
            self._say(_JOURNAL_PROBLEM.format(self.problem))

    def _is_known(self, event: Event) -> bool:
        """Whether the user has been told already what the event says."""
        match event:
            case events.LevelKnown():
                return event.reason == self._reason
            case events.StopRequested():
                return event.urgency != "now" and self.attempt_state.stop_requested
            case events.MemberReleased():
                return self.attempt_state.stop_requested
        return False

    def close(self) -> None:
        try:
            self._journal.close()
        except OSError as error:
            self.problem = error.strerror or str(error)
