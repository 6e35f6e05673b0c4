"""How a run ends that was to begin with weights it cannot take."""

from __future__ import annotations

from typing import NoReturn

from pitstop.engine.leaving import LeavesScript
from pitstop.engine.session import Session
from pitstop.errors import PitstopError
from pitstop.events import Notice
from pitstop.exit_codes import EXIT_REFUSED


class StartRefused(LeavesScript):
    """Leaves the script before its first step: the saved weights do not fit it."""

    def __init__(self) -> None:
        super().__init__(EXIT_REFUSED)


def refuse_start(session: Session, problem: PitstopError) -> NoReturn:
    """Tells what does not fit, and leaves the script.

    Raises:
        StartRefused: always.
    """
    session.report(Notice("weights_refused", problem.message, problem.remedy))
    raise StartRefused
