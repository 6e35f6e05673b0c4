"""The order to export a saved state instead of training on, and how it ends."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from pitstop.engine.leaving import LeavesScript
from pitstop.engine.snapshots.weights_file import Format
from pitstop.errors import PitstopError, UserError
from pitstop.events import Notice
from pitstop.exit_codes import EXIT_REFUSED
from pitstop.record import Frozen

if TYPE_CHECKING:
    from pitstop.engine.session.session import Session

EXPORTED = "exported"  # code of the notice that says the export is written

REFUSED = "export_refused"  # code of the notice that says why there is none


class NotExportable(UserError):
    """The saved state cannot be written in the form that was asked for."""


class ExportEnded(LeavesScript):
    """Leaves the script: the export is done, or cannot be done."""


class ExportOrder(Frozen):
    format: Format
    path: Path

    @classmethod
    def of(cls, session: Session) -> ExportOrder:
        return cls(Format(session.settings.export_to), Path(session.settings.export_path))


@contextmanager
def carrying_out(session: Session) -> Iterator[None]:
    """Writes the export, reports the result, and leaves the script (`ExportEnded`)."""
    try:
        yield
    except PitstopError as problem:
        refuse(session, problem)
    session.report(Notice(EXPORTED, session.settings.export_path))
    raise ExportEnded(0)


def refuse(session: Session, problem: PitstopError) -> NoReturn:
    session.report(Notice(REFUSED, problem.message, problem.remedy))
    raise ExportEnded(EXIT_REFUSED)


def refuse_to_train(session: Session, index: int) -> NoReturn:
    """Refuses a training that no saved state belongs to, and leaves the script (`ExportEnded`)."""
    refuse(
        session,
        NotExportable(
            f"Training {index + 1} of the script is not saved and would have to be repeated.",
            "Run the script as before, or export another checkpoint with --checkpoint.",
        ),
    )
