"""Why a pipeline gives no iterator state, or is not repeatable, and how exact a resume of it is.

TensorFlow refuses to serialise an iterator once a function of its pipeline keeps
state.  Python code and variables can be brought back to the creation of the
iterator, so that a replay gives the same batches; the counters inside of random
ops cannot.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any

from pitstop.engine.exactness import Exactness
from pitstop.tensorflow import pipeline
from pitstop.tensorflow.pipeline import StatefulStage

_PYTHON_OPS = frozenset({"PyFunc", "EagerPyFunc", "GeneratorDataset"})
_VARIABLE_READS = frozenset({"ReadVariableOp", "VarIsInitializedOp", "ResourceGather"})
_VARIABLE_WRITES = frozenset(
    {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "RngReadAndSkip", "RngSkip"}
)
_UNDERSTOOD = _PYTHON_OPS | _VARIABLE_READS | _VARIABLE_WRITES
_STATELESS = "tf.random.stateless_* with a seed per element"


def level_of(
    stages: Sequence[StatefulStage], refused_op: str, *, deterministic_ops: bool = False
) -> Exactness:
    """How exact a replay of a pipeline is that cannot be serialised.

    `stages`: those that keep state; `refused_op`: the op that TensorFlow named, empty for none.
    With `deterministic_ops` random ops give the same numbers again.
    """
    for stage in stages:
        problem = _problem(stage, deterministic_ops=deterministic_ops)
        if problem:
            return Exactness("not_exact", f"the pipeline's {stage.name} {problem}")
    drawing = frozenset().union(*(stage.random_ops for stage in stages))
    if refused_op and refused_op not in _UNDERSTOOD | drawing:
        return Exactness(
            "not_exact",
            f"the pipeline has state that cannot be restored ({refused_op}); keep it in a "
            "tf.Variable, or compute it from the element",
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
    if stage.ops & _VARIABLE_WRITES and stage.is_parallel:
        return (
            "changes variables (such as the seed of a Keras layer) in the order in which "
            "elements are finished: not repeatable even without an interruption; remove "
            f"num_parallel_calls, or use {_STATELESS}"
        )
    if stage.ops & _VARIABLE_WRITES and not stage.only_variables:
        return "changes a resource that cannot be read; keep its state in a tf.Variable"
    return ""


def _way(stage: StatefulStage) -> str:
    if stage.ops & _PYTHON_OPS:
        threads = ", in several threads: it must not draw random numbers"
        return f"runs Python code{threads if stage.is_parallel else ''}"
    if stage.random_ops:
        return "uses random ops, which are deterministic here"
    return "uses variables (such as the seed of a Keras layer), which nothing else may change"


NOT_REPEATABLE = Exactness(
    "not_exact",
    "several iterators read one shuffle().repeat() ahead and take each other's seeds, which is "
    "not repeatable even without an interruption; put repeat() before shuffle(), or give "
    "shuffle() reshuffle_each_iteration=False",
)

_READERS: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
"""How many readers of this process have begun to read a shuffle, by its dataset."""


class RepeatedShuffles:
    """Shuffles in the pipeline of one reader that are repeated and read ahead.

    A shuffle draws the seed of each order from a stream that all iterators over its dataset share.
    Behind `shuffle().repeat()` a prefetch or a parallel stage begins the next order as soon as it
    gets there; an iterator that is created meanwhile takes its seed before or after that. A single
    iterator has nobody to race with.
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
