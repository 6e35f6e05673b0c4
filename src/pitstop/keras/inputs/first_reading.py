"""What a training has read of the shuffles of its dataset, in a process that outlives a stop.

A shuffle draws the seed of each order from a stream that lives as long as its dataset.  The next
process makes the dataset anew.  A kernel keeps it: there the stream goes on where the interrupted
training has left it, and has to be set back before the training continues.
"""

from collections.abc import Iterator
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf

from pitstop.engine.exactness import not_exact
from pitstop.tensorflow import private
from pitstop.tensorflow.pipelines.pipeline import is_drawn
from pitstop.tensorflow.pipelines.stages import every_stage

READ_ON = not_exact(
    "the shuffle() of the dataset goes on behind the orders that the interrupted training has "
    "drawn in this kernel: run the cell that makes the dataset again, then this one"
)
_STATES: WeakKeyDictionary[Any, dict[int, bytes]] = WeakKeyDictionary()
"""By shuffle and training, its first iterator of this process; empty if not serializable."""


class FirstReading:
    """The first iterator that a training creates over its dataset in this process."""

    def __init__(self, data: Any, training: int | None) -> None:
        """`training`: its number in a kernel, None where the process ends with a stop."""
        is_dataset = training is not None and isinstance(data, tf.data.Dataset)
        self._shuffles = list(_shuffles(data)) if is_dataset else []
        self._training = training or 0
        self._known: bytes | None = None
        self._resumes = False

    def resume(self) -> None:
        """The training goes on; called before it creates an iterator."""
        if not self._resumes:
            states = (_STATES.get(each, {}).get(self._training) for each in self._shuffles)
            self._known = min((each for each in states if each is not None), default=None)
        self._resumes = True

    def cannot_repeat(self, *, by_replay: bool) -> bool:
        """Whether a training that goes on here would read other orders."""
        is_first = self._known is None
        if is_first and by_replay:
            self._note(b"")
        return not (is_first or (self._known and not by_replay))

    def begin(self, state: bytes) -> None:
        """A training that begins has created an iterator, which has this state."""
        self._note(state)

    def set_back(self, iterator: Any, state: bytes) -> bytes:
        """Lets an iterator, the first one of a training that goes on, be the first one of all.

        Returns its state, which was `state`.
        """
        if not self._known:
            self._note(state)
            return state
        private.restore_iterator(iterator, self._known)
        return self._known

    @property
    def is_watched(self) -> bool:
        """Whether `begin` is to be told; of a training that goes on, `set_back` is told instead."""
        return bool(self._shuffles) and not self._resumes

    def _note(self, state: bytes) -> None:
        begin_later = len(private.seed_counts(state)) < len(self._shuffles)
        for each in self._shuffles:
            _STATES.setdefault(each, {})[self._training] = b"" if begin_later else state


def _shuffles(data: Any) -> Iterator[Any]:
    return filter(is_drawn, every_stage(data))
