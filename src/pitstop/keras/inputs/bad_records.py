"""Batches that cannot be read are left out, where `--on-bad-record skip` allows it.

Each counts as a step, so that the place in the input stays the number of steps; those of a
validation do not.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import observing
from pitstop.events import BatchSkipped, Notice
from pitstop.keras.inputs.input_state import goes_on_behind_an_error
from pitstop.tensorflow import private
from pitstop.tensorflow.pipelines import drawn_inputs

_UNREADABLE = (tf.errors.DataLossError, tf.errors.InvalidArgumentError)
_PLACES = re.compile(r"\{\{.*?\}\}|\[\[.*?\]\]|\[Op:.*?\]")
"""Where in a graph TensorFlow met an error."""
NOT_SKIPPED = Notice(
    "records_not_skipped",
    "--on-bad-record skip does not apply to the training data: a Python generator has ended once "
    "it raises.",
    "Catch the exception in the generator, or read from a PyDataset or a tf.data pipeline.",
)
_MOST = 10
_MOST_SHARE = 0.1
LIST = "skipped-records.txt"
"""Its name in the folder of an attempt: a line for each batch that was left out."""


class BadRecords:
    """Draws the batches of a `fit`, or of its validations, and passes over those that fail.

    After more than ten of them, and one in ten batches, the script gets the next error.
    """

    def __init__(self, dataset: Any, *, may_skip: bool, in_validation: bool = False) -> None:
        self._is_wanted = may_skip
        self._may_skip = may_skip and goes_on_behind_an_error(dataset)
        self._in_validation = in_validation
        self._take_unread: Callable[[], str] | None = None
        self._calls = self._skipped = 0

    @property
    def is_refused(self) -> bool:
        """Whether the user wants batches to be skipped, and this input ends with an error."""
        return self._is_wanted and not self._may_skip and not self._calls

    def guard(self, take_unread: Callable[[], str]) -> None:
        """Notes that the input goes on after errors; `take_unread`: what raised one, or empty."""
        if self._take_unread is None:
            self._may_skip = self._is_wanted
        self._take_unread = take_unread

    def readable(self, run: Any, items: Iterable[Any], stride: int) -> Iterator[Any]:
        """The items of an epoch iterator, without those whose batches cannot be read."""
        for first, *last, iterator in items:
            read = self.next_call(run, iterator, range(first + 1, first + 1 + stride))
            if read is not None:
                yield (first, *last, read)

    def next_call(self, run: Any, iterator: Any, numbers: Sequence[int]) -> Any:
        """The iterator from which a call reads its batches; None if a batch is unreadable.

        `numbers`: the numbers of these batches.
        """
        if not self._may_skip:
            return iterator
        self._may_skip = self._skipped < max(_MOST, self._calls * _MOST_SHARE)
        if not self._may_skip or not private.is_serializable(iterator):
            return iterator
        self._calls += 1
        batches, is_whole = [], True
        for number in numbers:
            try:
                batches.append(next(iterator))
            except StopIteration:
                break
            except tf.errors.OpError as error:
                cause = self._cause_of(error)
                if not cause:
                    raise
                is_whole = False
                self._skipped += 1
                _tell(run, number, cause, in_validation=self._in_validation)
        if is_whole:
            return drawn_inputs.iterator_over(batches, iterator) if batches else iterator
        return None

    def skip(self, iterator: Any, batches: int, tell: Callable[[int], None]) -> None:
        for drawn in range(batches):
            tell(drawn)
            try:
                drawn_inputs.skip(iterator, 1)
            except tf.errors.OpError as error:
                if not (self._may_skip and self._cause_of(error)):
                    raise

    def _cause_of(self, error: tf.errors.OpError) -> str:
        """Why a batch cannot be read; empty for an error that is not of one batch."""
        if self._take_unread is not None:
            return self._take_unread()
        return str(error.message or error) if isinstance(error, _UNREADABLE) else ""


@observing()
def _tell(run: Any, number: int, error: str, *, in_validation: bool) -> None:
    at = run.position
    step, place = (at.step, number) if in_validation else (number, at.in_epoch(number))
    batch = f"batch {place}{' of the validation' if in_validation else ''}"
    cause = " ".join(_PLACES.sub("", error).split())
    run.doubt("--on-bad-record changed the results: batches that cannot be read are skipped")
    file = run.session.attempt_dir / LIST
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"step {step}, epoch {at.epoch + 1}, {batch}: {cause}\n")
    run.session.report(BatchSkipped(step, at.epoch, place, "", [cause], in_validation))
