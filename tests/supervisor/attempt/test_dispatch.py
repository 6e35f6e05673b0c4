"""Whatever a part of an attempt tells, somebody handles it."""

from __future__ import annotations

from typing import Any

from pitstop.link.messages import RestoreRequest, SnapshotReport, VitalsReport
from pitstop.supervisor.attempt.supervision import Supervision
from pitstop.supervisor.lifecycle.occurrences import Told
from pitstop.supervisor.lifecycle.table import Instruction, Trigger


class _Parts:
    """Has every part, and every method of it."""

    def __getattr__(self, name: str) -> Any:
        return self


_PARTS: Any = _Parts()


def test_every_occurrence_has_a_handler() -> None:
    told = {*Told.__subclasses__(), Trigger, RestoreRequest, SnapshotReport, VitalsReport}
    assert set(Supervision.handlers(_PARTS)) == told


def test_every_instruction_has_an_action() -> None:
    assert set(Supervision.actions(_PARTS)) == set(Instruction)
