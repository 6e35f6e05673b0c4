"""How a launched training ends: who is told to end, when, and with which exit code.  Pure."""

from __future__ import annotations

import enum
from collections.abc import Sequence

from pitstop.exit_codes import EXIT_COMPLETED, EXIT_STOPPED
from pitstop.record import record

SAVE_SECONDS = 60.0
"""What a member may take, behind its own grace, to save after it was told to end."""


@record
class MemberEnd:
    """How one member's `pitstop run` ended; 128 + signal when it was killed.

    Attributes:
        failed: neither complete, nor stopped as somebody had asked.
        dismissed: told to end, since the leader had.
        leads: its end is the end of the training.
    """

    exit_code: int
    failed: bool = False
    dismissed: bool = False
    leads: bool = False

    def __str__(self) -> str:
        if self.exit_code == EXIT_COMPLETED:
            return "completed"
        how = "was ended, as the leader had" if self.dismissed else "stopped"
        return f"{'failed' if self.failed else how} (exit code {self.exit_code})"


def exit_code(ends: Sequence[MemberEnd]) -> int:
    """The launch's exit code, from all ends in time: the leader's, or that of who failed first."""
    leaders = [each.exit_code for each in ends if each.leads and each.exit_code]
    failures = [each.exit_code for each in ends if each.failed and not each.dismissed]
    stopped = [each.exit_code for each in ends if each.exit_code == EXIT_STOPPED]
    return next(iter([*leaders, *failures, *stopped]), EXIT_COMPLETED)


class Dismissal(enum.Enum):
    """What is sent to those who remain when the leader has ended."""

    NOTHING = "nothing"
    ASK = "ask"
    KILL = "kill"


@record
class Linger:
    """How long those who remain may go on by themselves, and once they were told to end."""

    linger_seconds: float
    grace_seconds: float

    def dismissal(self, since_end_seconds: float) -> Dismissal:
        """What is due so long after the leader's end."""
        if since_end_seconds < self.linger_seconds:
            return Dismissal.NOTHING
        asked_for_seconds = since_end_seconds - self.linger_seconds
        return Dismissal.ASK if asked_for_seconds < self.grace_seconds else Dismissal.KILL
