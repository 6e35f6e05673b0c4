"""Types of ops in a traced function that a resume has to know of."""

import enum
import functools
from collections.abc import Mapping
from typing import Any

from tensorflow.python.framework import op_def_registry

SEEDS = frozenset({"seed", "seed2"})
# They return all classes, or sizes: nothing in it is random.
_DRAWS_NOTHING = frozenset({"AllCandidateSampler", "ComputeAccidentalHits"})


def draws_hidden(op_type: str, attributes: Mapping[str, Any]) -> bool:
    """Whether an op draws from a stream that cannot be read or set, by TensorFlow's registry.

    A stateful op with two seeds as attributes counts inside of its kernel; a few others take new
    seeds.
    """
    if op_type in _DRAWS_NOTHING or not (named := _of_seeded(op_type)):
        return False
    if "dropout" in named:
        # A recurrent layer of cuDNN draws for its dropout alone.
        return "dropout" in attributes and attributes["dropout"].f > 0
    if "deterministic" in named:
        return not any(attributes[name].i for name in SEEDS if name in attributes)
    return bool(op_def_registry.get(op_type).is_stateful)


@functools.cache
def _of_seeded(op_type: str) -> frozenset[str]:
    definition = op_def_registry.get(op_type)
    names = frozenset(each.name for each in definition.attr) if definition else frozenset()
    return names if names >= SEEDS else frozenset()


class OpKind(enum.Enum):
    """What an op does that a resume cannot take for granted."""

    RANDOM = enum.auto()  # it draws from a hidden stream
    STATE = enum.auto()  # it changes state which is in no variable: Python's, a table's, a queue's
    INPUT = enum.auto()  # with it, a function draws its input by itself
    COMPILED = enum.auto()  # XLA compiles it (jit_compile)
    MARKED = enum.auto()  # XLA may compile it, with others (jit_scope)


_STATE_OPS = """
BarrierInsertMany BarrierTakeMany EagerPyFunc LookupTableImportV2 LookupTableInsertV2
LookupTableRemoveV2 PyFunc QueueDequeueManyV2 QueueDequeueUpToV2 QueueDequeueV2
QueueEnqueueManyV2 QueueEnqueueV2 StackPopV2 StackPushV2 Stage Unstage"""
_INPUT_OPS = "IteratorGetNext IteratorGetNextSync IteratorGetNextAsOptional ReduceDataset"
_KINDS = dict.fromkeys(_STATE_OPS.split(), OpKind.STATE) | dict.fromkeys(
    _INPUT_OPS.split(), OpKind.INPUT
)

_OF_XLA = {"_XlaMustCompile": OpKind.COMPILED, "_XlaCompile": OpKind.MARKED}


def kind_of(op_type: str, attributes: Mapping[str, Any]) -> OpKind | None:
    if draws_hidden(op_type, attributes):
        return OpKind.RANDOM
    of_xla = (kind for name, kind in _OF_XLA.items() if name in attributes and attributes[name].b)
    return _KINDS.get(op_type) or next(of_xla, None)


def is_for_shapes(graph: Any) -> bool:
    """Keras calls a model in a graph that never runs, to know the shapes of its outputs."""
    while graph is not None and "scratch_graph" not in getattr(graph, "name", ""):
        graph = getattr(graph, "outer_graph", None)
    return graph is not None
