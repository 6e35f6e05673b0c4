"""Batches that cannot be read are left out, where `--on-bad-record skip` allows it.

Each counts as a step, so that the place in the input stays the number of steps.
"""

import re
from typing import Any

import tensorflow as tf

from pitstop.engine.fence import observing
from pitstop.events import BatchSkipped
from pitstop.tensorflow import drawn_inputs

_UNREADABLE = (tf.errors.DataLossError, tf.errors.InvalidArgumentError)
_PLACES = re.compile(r"\{\{.*?\}\}|\[\[.*?\]\]|\[Op:.*?\]")
"""Where in a graph TensorFlow met an error."""
_MOST = 10
_MOST_SHARE = 0.1
LIST = "skipped-records.txt"
"""Its name in the folder of an attempt: a line for each batch that was left out."""


class BadRecords:
    """Draws the batches of a `fit` ahead of its steps, and passes over those that fail.

    More than ten, and one in ten, are no accident: the next one is the script's to meet.
    """

    def __init__(self, *, may_skip: bool) -> None:
        self._may_skip = may_skip
        self._calls = self._skipped = 0

    def next_call(self, run: Any, iterator: Any, stride: int) -> Any:
        """What a call of `stride` steps reads from; None where a batch cannot be read."""
        self._may_skip &= self._skipped < max(_MOST, self._calls * _MOST_SHARE)
        if not self._may_skip or not drawn_inputs.is_of_one_device(iterator):
            return iterator
        self._calls += 1
        batches, is_whole = [], True
        for step in run.position.next_steps(stride):
            try:
                batches.append(next(iterator))
            except StopIteration:
                break
            except _UNREADABLE as error:
                is_whole = False
                self._skipped += 1
                _tell(run, step, str(error.message))
        if is_whole:
            return drawn_inputs.iterator_over(batches, iterator) if batches else iterator
        run.numbers.forget()
        return None

    def skip(self, iterator: Any, elements: int) -> None:
        passed: tuple[type[Exception], ...] = _UNREADABLE if self._may_skip else ()
        for _ in range(elements):
            try:
                drawn_inputs.skip(iterator, 1)
            except passed:
                continue


@observing()
def _tell(run: Any, step: int, error: str) -> None:
    epoch, place = run.position.epoch, run.position.in_epoch(step)
    cause = " ".join(_PLACES.sub("", error).split())
    run.doubt("--on-bad-record changed the results: batches that cannot be read are skipped")
    file = run.session.attempt_dir / LIST
    with file.open("a", encoding="utf-8") as lines:
        lines.write(f"step {step}, epoch {epoch + 1}, batch {place}: {cause}\n")
    run.session.report(BatchSkipped(step, epoch, place, "", [cause]))
