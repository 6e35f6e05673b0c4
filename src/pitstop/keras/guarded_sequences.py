"""A `PyDataset` whose further batches can be read behind one that raised.

Python's generators end with an exception, and so do those of Keras that read a `PyDataset`. With
`--on-bad-record skip`, what `__getitem__` raises is passed on in the place of the batch, and raised
by an iterator that goes on afterwards.
"""

import sys
import traceback
from collections import deque
from collections.abc import Iterator
from typing import Any, Self
from weakref import WeakKeyDictionary

from pitstop.engine.hooking import Original
from pitstop.keras.inputs.bad_records import BadRecords
from pitstop.keras.private import PyDatasetAdapter
from pitstop.keras.training import Training

_MOST_TRIED = 10


class Unread:
    """What stands in the place of a batch that `__getitem__` could not give."""

    def __init__(self, index: int, error: Exception) -> None:
        self.error = error
        self.words = f"index {index}: {type(error).__name__}: {error}"
        self._index = index

    def __reduce__(self) -> tuple[Any, ...]:
        # Out of a worker process; many exceptions cannot be unpickled, and the pool waits forever.
        lines = "".join(traceback.format_exception(self.error))
        return Unread._from_worker, (self._index, self.words, lines)

    @classmethod
    def _from_worker(cls, index: int, words: str, lines: str) -> Self:
        unread = cls(index, RuntimeError(lines))
        unread.words = words
        return unread


class _Guarded:
    """A `PyDataset` as Keras' generators and workers use it."""

    def __init__(self, sequence: Any) -> None:
        self._sequence = sequence

    @property
    def num_batches(self) -> int | None:
        count: int | None = self._sequence.num_batches
        return count

    def __getitem__(self, index: int) -> Any:
        try:
            return self._sequence[index]
        except (MemoryError, StopIteration):
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno:
                # Of the system, not of the record: a file is missing, a mount does not answer.
                raise
            return Unread(index, error)


class _ForItsForm(_Guarded):
    """One of which Keras reads the first batches for their form: if need be, those behind them."""

    def __getitem__(self, index: int) -> Any:
        first = batch = super().__getitem__(index)
        further = range(index + 1, min(self.num_batches or sys.maxsize, index + _MOST_TRIED))
        for at in further:
            if not isinstance(batch, Unread):
                return batch
            batch = super().__getitem__(at)
        if isinstance(batch, Unread):
            raise first.error
        return batch


class _GoingOn:
    """The batches of a generator; raises what could not be read, and goes on with the next."""

    def __init__(self, batches: Iterator[Any], unread: deque[str]) -> None:
        self._batches = batches
        self._unread = unread

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> Any:
        batch = next(self._batches)
        if isinstance(batch, Unread):
            self._unread.append(batch.words)
            raise batch.error
        return batch


class _GuardedAdapter(PyDatasetAdapter):
    """Reads in the place of another adapter, whose attributes it has.

    `unread`: of the newest iterator, what it has raised and nobody has asked for, in order.
    """

    def __init__(self, adapter: Any) -> None:
        self.__dict__.update(vars(adapter))
        self.unread: deque[str] = deque()

    def take_unread(self) -> str:
        """What the batch that failed next could not be read for; empty where it is not known."""
        return self.unread.popleft() if self.unread else ""

    def _standardize_batch(self, batch: Any) -> Any:
        return batch if isinstance(batch, Unread) else super()._standardize_batch(batch)

    def _get_iterator(self) -> _GoingOn:
        self.unread = deque()
        return _GoingOn(super()._get_iterator(), self.unread)


_guarded: WeakKeyDictionary[Any, _GuardedAdapter] = WeakKeyDictionary()


def get_tf_dataset(training: Training, original: Original, adapter: Any) -> Any:
    """The pipeline of a `PyDatasetAdapter`, guarded where the user wants batches to be skipped."""
    if not training.session.settings.skips_bad_records:
        return original(adapter)
    guarded = _guarded[adapter] = _GuardedAdapter(adapter)
    sequence = adapter.py_dataset
    guarded.py_dataset = _ForItsForm(sequence)
    dataset = original(guarded)
    guarded.py_dataset = _Guarded(sequence)
    if adapter.enqueuer is not None:
        adapter.enqueuer.py_dataset = guarded.py_dataset
    adapter._output_signature = guarded._output_signature
    return dataset


def guard(records: BadRecords, adapter: Any) -> None:
    """Before an iterator of the adapter is made."""
    guarded = _guarded.get(adapter)
    if guarded is not None:
        records.guard(guarded.take_unread)
