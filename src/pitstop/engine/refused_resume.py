"""How a run ends whose saved state does not fit the script."""

from __future__ import annotations

from typing import NoReturn

from pitstop.engine.leaving import LeavesScript
from pitstop.engine.session import Session
from pitstop.errors import ResumeRefused
from pitstop.events import Notice
from pitstop.exit_codes import EXIT_REFUSED


class ResumeImpossible(LeavesScript):
    """Leaves the script because the saved state does not fit it; nothing is lost."""

    def __init__(self) -> None:
        super().__init__(EXIT_REFUSED)


def refuse_resume(session: Session, refusal: ResumeRefused) -> NoReturn:
    """Tells what does not fit, and leaves the script.

    Raises:
        ResumeImpossible: always.
    """
    session.report(Notice("resume_refused", refusal.message, refusal.remedy))
    raise ResumeImpossible
