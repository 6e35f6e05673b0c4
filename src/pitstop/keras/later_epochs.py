"""Whether a pipeline that is drawn again behind its first epoch gives the same batches."""

from __future__ import annotations

from typing import Any

from pitstop.tensorflow import pipeline

_REPEATED = (
    "a shuffle() followed by repeat() draws several seeds per epoch, but a resume counts one per "
    "epoch; put repeat() before shuffle()"
)
_CACHED = (
    "a cache() keeps the random values of the first epoch, but a resume fills it again; put it "
    "before the random stages, or give it a file"
)


class LaterEpochs:
    """What is older than the iterator of an epoch, with whose creation a replay begins.

    That are the seeds that shuffles have drawn, and what a cache in memory holds.
    """

    def __init__(self, dataset: Any, *, fills: bool = False) -> None:
        """Nothing is read yet; `fills`: a resume fills caches as the first epoch did."""
        self._repeats = pipeline.repeats_a_shuffle(dataset)
        read = [] if fills else list(pipeline.cached_in_memory(dataset))
        self._caches_a_draw = any(map(pipeline.draws, read))
        self.caches_python = not all(map(pipeline.reads_again, read))
        """Whether a cache holds what code of the script gave, which may read its state."""
        self._state = ""
        self._state_moved = False

    def creating(self, state: str) -> None:
        """An iterator is about to be created; `state`: a digest of what its code may read."""
        self._state_moved = self._state_moved or self._state not in ("", state)
        self._state = state

    @property
    def doubt(self) -> str:
        """Why a replay of a later epoch is not exact; empty where it is."""
        if self._repeats:
            return _REPEATED
        return _CACHED if self._caches_a_draw or self._state_moved else ""
