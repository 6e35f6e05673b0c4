"""How a run ends whose saved state, or saved weights, do not fit the script."""

from __future__ import annotations

from typing import NoReturn

from pitstop.engine.leaving import Refused
from pitstop.engine.session import Session
from pitstop.errors import PitstopError
from pitstop.events import Notice


def refuse_resume(session: Session, problem: PitstopError) -> NoReturn:
    """Reports that the saved state does not fit, and leaves the script (`Refused`)."""
    session.report(Notice("resume_refused", problem.message, problem.remedy))
    raise Refused


def refuse_start(session: Session, problem: PitstopError) -> NoReturn:
    """Reports that the saved weights do not fit, and leaves the script (`Refused`)."""
    session.report(Notice("weights_refused", problem.message, problem.remedy))
    raise Refused
