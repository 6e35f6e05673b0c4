"""Types of ops in a traced function that a resume has to know of."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import Any

from pitstop.tensorflow import random_ops


class OpKind(enum.Enum):
    """What an op does that a resume cannot take for granted."""

    RANDOM = enum.auto()
    """It draws from a hidden stream."""
    STATE = enum.auto()
    """It changes state which is in no variable: Python's, a table's, a queue's."""
    INPUT = enum.auto()
    """With it, a function draws its input by itself."""


_KINDS = {
    **dict.fromkeys(
        (
            "BarrierInsertMany",
            "BarrierTakeMany",
            "EagerPyFunc",
            "LookupTableImportV2",
            "LookupTableInsertV2",
            "LookupTableRemoveV2",
            "PyFunc",
            "QueueDequeueManyV2",
            "QueueDequeueUpToV2",
            "QueueDequeueV2",
            "QueueEnqueueManyV2",
            "QueueEnqueueV2",
            "StackPopV2",
            "StackPushV2",
            "Stage",
            "Unstage",
        ),
        OpKind.STATE,
    ),
    **dict.fromkeys(
        ("IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional", "ReduceDataset"),
        OpKind.INPUT,
    ),
}


def kind_of(op_type: str, attributes: Mapping[str, Any]) -> OpKind | None:
    """See `random_ops.draws_hidden` for the arguments; None for most ops."""
    if random_ops.draws_hidden(op_type, attributes):
        return OpKind.RANDOM
    return _KINDS.get(op_type)
