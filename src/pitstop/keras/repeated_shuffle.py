"""Shuffles that are repeated and read ahead: where their order depends on who is quicker.

A shuffle draws the seed of each order from a stream that all iterators over its
dataset share.  Behind `shuffle().repeat()` a prefetch or a parallel stage begins
the next order as soon as it gets there; an iterator that is created meanwhile
takes its seed before or after that.  A single iterator has nobody to race with.
"""

from __future__ import annotations

import weakref
from typing import Any

from pitstop.engine.exactness import Exactness
from pitstop.tensorflow import pipeline

NOT_REPEATABLE = Exactness(
    "not_exact",
    "several iterators read one shuffle().repeat() ahead and take each other's seeds, which is "
    "not repeatable even without an interruption; put repeat() before shuffle(), or give "
    "shuffle() reshuffle_each_iteration=False",
)

_READERS: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many readers of this process have begun to read a shuffle, by its dataset."""


class RepeatedShuffles:
    """The shuffles of this kind in the pipeline of one reader.

    Attributes:
        found: their datasets.
    """

    def __init__(self, dataset: Any, *, in_parts: bool) -> None:
        """Looks for them; `in_parts` for a reader that stops before the end of the data."""
        self.found = pipeline.shuffles_read_ahead(dataset, in_parts=in_parts)

    @classmethod
    def of(cls, source: Any) -> RepeatedShuffles:
        """Those that an epoch iterator of Keras reads."""
        dataset = pipeline.of_one_device(source._distributed_dataset)
        return cls(dataset, in_parts=bool(source.steps_per_epoch))

    def begin(self) -> None:
        """The reader creates its first iterator."""
        for shuffle in self.found:
            _READERS[shuffle] = _READERS.get(shuffle, 0) + 1

    def are_raced(self, iterators: int) -> bool:
        """Whether there are several iterators over one of them: this reader has created so many."""
        return any(iterators > 1 or _READERS.get(shuffle, 0) > 1 for shuffle in self.found)
