"""Why a pipeline gives no iterator state, and how exact a resume of it is.  Pure.

TensorFlow refuses to serialise an iterator once a function of its pipeline keeps
state.  Python code and variables can be brought back to the creation of the
iterator, so that a replay gives the same batches; the counters inside of random
ops cannot.
"""

from __future__ import annotations

from collections.abc import Sequence

from pitstop.engine.exactness import Exactness
from pitstop.tensorflow.pipeline import StatefulStage

_PYTHON_OPS = frozenset({"PyFunc", "EagerPyFunc", "GeneratorDataset"})
_VARIABLE_READS = frozenset({"ReadVariableOp", "VarIsInitializedOp", "ResourceGather"})
_VARIABLE_WRITES = frozenset(
    {
        "AssignVariableOp",
        "AssignAddVariableOp",
        "AssignSubVariableOp",
        "RngReadAndSkip",
        "RngSkip",
    }
)
_UNDERSTOOD = _PYTHON_OPS | _VARIABLE_READS | _VARIABLE_WRITES
_STATELESS = "tf.random.stateless_* with a seed per element"


def level_of(
    stages: Sequence[StatefulStage], refused_op: str, *, deterministic_ops: bool = False
) -> Exactness:
    """How exact a replay of a pipeline is that cannot be serialised.

    Args:
        stages: those of its stages that keep state.
        refused_op: the op that TensorFlow named; empty where it named none.
        deterministic_ops: random ops give the same numbers again.
    """
    for stage in stages:
        problem = _problem(stage, deterministic_ops=deterministic_ops)
        if problem:
            return Exactness("not_exact", f"the pipeline's {stage.name} {problem}")
    drawing = frozenset().union(*(stage.random_ops for stage in stages))
    if refused_op and refused_op not in _UNDERSTOOD | drawing:
        return Exactness(
            "not_exact",
            f"the pipeline keeps state that cannot be brought back ({refused_op}); "
            "keep it in a tf.Variable, or compute it from the element",
        )
    told = dict.fromkeys(f"the pipeline's {stage.name} {_way(stage)}" for stage in stages)
    return Exactness("exact_by_replay", "; ".join(told) or "the pipeline has no state to give")


def _problem(stage: StatefulStage, *, deterministic_ops: bool) -> str:
    hidden = sorted(stage.random_ops)
    if hidden and not deterministic_ops:
        return (
            f"draws random numbers that cannot be repeated ({hidden[0]}); use {_STATELESS}, "
            "or tf.config.experimental.enable_op_determinism()"
        )
    if stage.ops & _VARIABLE_WRITES and stage.is_parallel:
        return (
            "changes variables (such as the seed of a Keras layer) in the order in which elements "
            "get ready: not repeatable even without an interruption; leave out "
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
        return "draws from random ops, which are deterministic here"
    return "draws from variables (such as the seed of a Keras layer), which nothing else may change"
