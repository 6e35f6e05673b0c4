"""How exact a replay of a `tf.data` pipeline is, and why it may not be repeatable.

TensorFlow refuses to serialise an iterator once a function of its pipeline keeps state. Python code
and variables can be brought back, the counters inside of random ops cannot.
"""

import weakref
from collections.abc import Sequence
from typing import Any

from pitstop.engine.exactness import Exactness, not_exact
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.pipelines.stage_functions import VARIABLE_WRITES, StatefulStage

REPEATED = (
    "a shuffle() draws several seeds per epoch (a repeat() follows it, or a function reads its "
    "dataset), but a resume counts one per epoch; put repeat() before shuffle()"
)
_CACHED = (
    "a cache() keeps the random values of the first epoch, but a resume fills it again; put it "
    "before the random stages, or give it a file"
)


class LaterEpochs:
    """What is older than the iterator of an epoch: seeds of shuffles, caches in memory."""

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
        if self._repeats:
            return REPEATED
        return _CACHED if self._caches_a_draw or self._state_moved else ""


PYTHON_OPS = frozenset({"PyFunc", "EagerPyFunc", "GeneratorDataset"})
_VARIABLE_READS = frozenset({"ReadVariableOp", "VarIsInitializedOp", "ResourceGather"})
_CHECKS = frozenset({"CheckNumerics", "CheckNumericsV2"})  # stateful so that they are not left out
_SHUFFLES = frozenset({"DummySeedGenerator", "ShuffleDatasetV3"})
_UNDERSTOOD = PYTHON_OPS | _VARIABLE_READS | VARIABLE_WRITES | _CHECKS | _SHUFFLES
_STATELESS = "tf.random.stateless_* with a seed per element"


def is_in_variables(stage: StatefulStage) -> bool:
    """Whether the state of a stage is in variables, all of it."""
    known = stage.ops <= _VARIABLE_READS | VARIABLE_WRITES
    return known and stage.only_variables and not stage.random_ops


def level_of(
    stages: Sequence[StatefulStage], refused_op: str, *, deterministic_ops: bool = False
) -> Exactness:
    """How exact a replay of a pipeline of these stages is; `refused_op`: TensorFlow named it."""
    for stage in stages:
        problem = _problem(stage, deterministic_ops=deterministic_ops)
        if problem:
            return not_exact(f"the pipeline's {stage.name} {problem}")
    drawing = frozenset().union(*(stage.random_ops for stage in stages))
    if refused_op and refused_op not in _UNDERSTOOD | drawing:
        return not_exact(
            f"the pipeline has state that cannot be restored ({refused_op}); keep it in a "
            "tf.Variable, or compute it from the element"
        )
    told = dict.fromkeys(f"the pipeline's {stage.name} {_way(stage)}" for stage in stages)
    return Exactness("exact_by_replay", "; ".join(told) or "the pipeline's state cannot be read")


def _problem(stage: StatefulStage, *, deterministic_ops: bool) -> str:
    hidden = sorted(stage.random_ops)
    if hidden and not deterministic_ops:
        return (
            f"draws random numbers that cannot be repeated ({hidden[0]}); use {_STATELESS}, "
            "or tf.config.experimental.enable_op_determinism()"
        )
    if stage.ops & VARIABLE_WRITES and stage.is_parallel:
        return (
            "changes variables (such as the seed of a Keras layer) in the order in which "
            "elements are finished: not repeatable even without an interruption; remove "
            f"num_parallel_calls, or use {_STATELESS}"
        )
    if stage.ops & VARIABLE_WRITES and not stage.only_variables:
        return "changes a resource that cannot be read; keep its state in a tf.Variable"
    return ""


def _way(stage: StatefulStage) -> str:
    if stage.ops & PYTHON_OPS:
        threads = ", in several threads: it must not draw random numbers"
        return f"runs Python code{threads if stage.is_parallel else ''}"
    if stage.random_ops:
        return "uses random ops, which are deterministic here"
    if stage.ops & _SHUFFLES:
        return "shuffles, for which TensorFlow saves no position"
    if stage.ops <= _CHECKS:
        return "checks numbers, for which TensorFlow saves no position"
    return "uses variables (such as the seed of a Keras layer), which nothing else may change"


NOT_REPEATABLE = not_exact(
    "several iterators read one shuffle().repeat() ahead and take each other's seeds, which is "
    "not repeatable even without an interruption; put repeat() before shuffle(), or give "
    "shuffle() reshuffle_each_iteration=False"
)

_READERS: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many readers of this process have begun to read a shuffle, by its dataset."""


class RepeatedShuffles:
    """Shuffles in the pipeline of one reader that are repeated and read ahead.

    A shuffle draws the seed of each order from a stream that all iterators over its dataset share.
    After `shuffle().repeat()` a prefetch or a parallel stage begins the next order as soon as it
    gets there; an iterator that is created meanwhile takes its seed before or after that. A single
    iterator has nobody to race with.
    """

    def __init__(self, dataset: Any, *, in_parts: bool) -> None:
        """Looks for them; `in_parts` for a reader that stops before the end of the data."""
        self.found = pipeline.shuffles_read_ahead(dataset, in_parts=in_parts)

    def begin(self) -> None:
        for shuffle in self.found:
            _READERS[shuffle] = _READERS.get(shuffle, 0) + 1

    def are_raced(self, iterators: int) -> bool:
        """Whether there are several iterators over one of them: this reader has created so many."""
        return any(iterators > 1 or _READERS.get(shuffle, 0) > 1 for shuffle in self.found)
