"""A log and what is known of its end: what its clues say together."""

import re
from collections.abc import Sequence
from functools import cached_property

from pitstop.diagnosis.finding import CauseId
from pitstop.diagnosis.log import clues, completion
from pitstop.diagnosis.log.clues import LIKELY, Clue
from pitstop.diagnosis.log.lines import Line
from pitstop.diagnosis.log.log import Log
from pitstop.diagnosis.log.progress import ended_in_nan, in_last_epoch, ran_to_its_end
from pitstop.diagnosis.signatures.tables import Weight
from pitstop.diagnosis.wording import ADVICE
from pitstop.record import Frozen

QUIET_ENDS: frozenset[CauseId] = frozenset({"early_stopping_or_callback_stop", "dataset_exhausted"})
"""What ends a training without an error, unless an error came after it."""
_DOUBTED = 0.6
_HEAD, _HEAD_LINES = "Traceback (most", 2
_MOST_SHELL_LINES = 8


class Ending(Frozen):
    """A log, and what is known of the end from elsewhere."""

    log: Log
    exit_code: int | None = None
    signal: str = ""

    @cached_property
    def clues(self) -> tuple[Clue, ...]:
        status = clues.of_status(self.exit_code, self.signal)
        return (*clues.find(self.log), *((status,) if status else ()))

    @cached_property
    def is_complete(self) -> bool:
        """It ran to its end, as its exit code or its last lines say."""
        if self.exit_code is not None or self.signal:
            return self.exit_code == 0
        if any(each.is_cut and each.headed for each in self.log.tracebacks) or self._breaks_off:
            return False
        last = max((each.number for each in self._failures), default=0)
        if self.log.progress and self.log.progress[-1].is_before_its_end:
            last = max(last, self.log.progress[-1].number)  # another training began after it
        said = any(
            line.number > last + (last and _shell_lines(line)) for line in self.log.completions
        )
        if said or self._failures:
            return said
        if completion.breaks_off(self.log.lines, self.log.progress):
            return False
        return ran_to_its_end(self.log.progress) or self.log.last_words is not None

    @property
    def _breaks_off(self) -> bool:
        """The log ends where a traceback begins."""
        last = [line for line in self.log.lines if line.text.strip()][-_HEAD_LINES:]
        told = max((each.last for each in self.log.tracebacks), default=0)
        return any(_HEAD in line.text and line.number > told for line in last)

    @property
    def _failures(self) -> list[Clue]:
        return [
            each
            for each in self.clues
            if each.weight > Weight.HINT and not each.survived and each.cause not in QUIET_ENDS
        ]


def _shell_lines(line: Line) -> int:
    """How many lines after a failure are the shell's, which says `done` however a command ended."""
    return _MOST_SHELL_LINES if re.match(r"\W*\w+\W*$", line.text) else 0


def of_completed(ending: Ending) -> Clue | None:
    progress = ending.log.progress
    if ending.log.passed_tests and ending.is_complete:
        return _completed(ending, doubts=())
    # What was said to have ended the training, if it was the last one.
    quiet = (each for each in ending.clues if each.cause in (*QUIET_ENDS, "nan_loss"))
    told = [each for each in quiet if not _is_of_another_fit(ending, each)]
    likely = [each for each in told if each.confidence >= LIKELY]
    is_nan = ended_in_nan(progress)
    if likely and not (is_nan and all(each.cause != "nan_loss" for each in likely)):
        return max(likely, key=lambda each: (each.cause == "nan_loss", each.weight, each.number))
    if is_nan:
        return _nan_seen(ending)
    if ending.is_complete:
        return _stopped_early(ending) or _completed(ending, doubts=told)
    return told[-1] if told else None


def _is_of_another_fit(ending: Ending, clue: Clue) -> bool:
    """Whether other epochs came after it: of a later fit, or of a loop that it did not stop."""
    before = [each for each in ending.log.progress if each.number <= clue.number]
    after = [each for each in ending.log.progress if each.number > clue.number]
    last = next((each for each in reversed(before) if each.epoch is not None), None)
    others = {each.epoch for each in after if each.epoch is not None} - {last and last.epoch}
    if last and any(each.epochs not in (None, last.epochs) for each in after):
        return True  # as many epochs were not announced before
    is_fresh = any(epoch <= 1 for epoch in others)
    if clue.cause == "dataset_exhausted":
        return is_fresh and ran_to_its_end(after)
    return is_fresh or len(others) > 1


def _stopped_early(ending: Ending) -> Clue | None:
    """Whole epochs, but fewer than announced, and the script went on: somebody stopped the fit."""
    progress = ending.log.progress
    epochs = [each for each in progress if each.epoch and each.epochs]
    is_whole = bool(progress) and progress[-1].total and not progress[-1].is_before_its_end
    if not epochs or not is_whole or in_last_epoch(progress):
        return None
    last = epochs[-1]
    lines = [line for line in ending.log.lines if line.number > progress[-1].number]
    after = next((line for line in lines if line.text.strip()), None)
    if after is None:
        return None
    return clues.hint(
        "early_stopping_or_callback_stop",
        0.6,
        after,
        f"The training ended in epoch {last.epoch} of {last.epochs} without an error, and the "
        "script continued.",
        "Look for EarlyStopping and for callbacks that set `model.stop_training`.",
    )


def _nan_seen(ending: Ending) -> Clue:
    first = next(each for each in ending.log.progress if each.is_nan)
    line = next(line for line in ending.log.lines if line.number == first.number)
    after = "; the training continued but is useless since then" if ending.is_complete else ""
    headline = f"The loss became NaN or infinite{after}."
    sure = 0.9 if ending.is_complete else 0.45
    return clues.hint("nan_loss", sure, line, headline, ADVICE["lower_learning_rate"])


def _completed(ending: Ending, doubts: Sequence[Clue]) -> Clue:
    said = ending.log.completions or tuple(filter(None, [ending.log.last_words]))
    last = ending.log.progress[-1] if ending.log.progress else None
    number = said[-1].number if said else (last.number if last else 0)
    quote = next((line.text for line in ending.log.lines if line.number == number), "exit code 0")
    sure = 0.92 if ending.exit_code == 0 else 0.7
    doubt = "its input was too short" if doubts else _left_early(ending)
    headline = f"It completed, unless {doubt}." if doubt else "It completed."
    by_form = not ending.log.completions and ending.log.last_words
    sure = min(sure, _DOUBTED) if doubt or (by_form and sure < 0.9) else sure
    return clues.hint("completed_normally", sure, Line(number, quote), headline)


def _left_early(ending: Ending) -> str:
    """Where the last words are of an epoch before the last: the script may have left it."""
    epochs = [each for each in ending.log.progress if each.epoch and each.epochs]
    if not epochs or ending.log.completions or in_last_epoch(ending.log.progress):
        return ""
    return f"it should have trained beyond epoch {epochs[-1].epoch} of {epochs[-1].epochs}"
