"""How a run ends whose saved state, or saved weights, do not fit the script."""

from __future__ import annotations

from typing import NoReturn

from pitstop.engine.leaving import LeavesScript
from pitstop.engine.session import Session
from pitstop.errors import PitstopError
from pitstop.events import Notice
from pitstop.exit_codes import EXIT_REFUSED


class Refused(LeavesScript):
    """Leaves the script, because what is saved does not fit it; nothing is lost."""

    def __init__(self) -> None:
        super().__init__(EXIT_REFUSED)


def refuse_resume(session: Session, problem: PitstopError) -> NoReturn:
    """Reports that the saved state does not fit, and leaves the script (`Refused`)."""
    session.report(Notice("resume_refused", problem.message, problem.remedy))
    raise Refused


def refuse_start(session: Session, problem: PitstopError) -> NoReturn:
    """Reports that the saved weights do not fit, and leaves the script (`Refused`)."""
    session.report(Notice("weights_refused", problem.message, problem.remedy))
    raise Refused
