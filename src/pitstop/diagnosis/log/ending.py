"""A log and what is known of its end: what its clues say together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.log import clues
from pitstop.diagnosis.log.clue import Clue
from pitstop.diagnosis.log.log import Log
from pitstop.diagnosis.log.progress import ran_to_its_end
from pitstop.diagnosis.signatures import Weight

QUIET_ENDS: frozenset[CauseId] = frozenset({"early_stopping_or_callback_stop", "dataset_exhausted"})
"""What ends a training without an error, unless an error came after it."""


@dataclass(frozen=True)
class Ending:
    """A log, and what is known of the end from elsewhere.

    Attributes:
        log: what was read.
        exit_code: of the process, None where it is unknown.
        signal: that ended it, or empty.
    """

    log: Log
    exit_code: int | None = None
    signal: str = ""

    @cached_property
    def clues(self) -> tuple[Clue, ...]:
        """All clues, in the order of their lines, the status last."""
        status = clues.of_status(self.exit_code, self.signal)
        return (*clues.find(self.log), *((status,) if status else ()))

    @cached_property
    def is_complete(self) -> bool:
        """It ran to its end, as its exit code or its last lines say."""
        if self.exit_code is not None or self.signal:
            return self.exit_code == 0
        if any(each.is_cut and each.headed for each in self.log.tracebacks):
            return False
        last_failure = max((each.number for each in self._failures), default=0)
        said = any(line.number > last_failure for line in self.log.completions)
        return said or (not self._failures and ran_to_its_end(self.log.progress))

    @property
    def _failures(self) -> list[Clue]:
        return [
            each
            for each in self.clues
            if each.weight > Weight.HINT and not each.survived and each.cause not in QUIET_ENDS
        ]
