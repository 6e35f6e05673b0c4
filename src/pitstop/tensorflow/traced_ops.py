"""Types of ops in a traced function that a repetition has to know of."""

from __future__ import annotations

HIDDEN_STATE_OPS = frozenset(
    {
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
    }
)
"""Ops that change state which is in no variable: Python's, a table's, a queue's."""


INPUT_OPS = frozenset(
    {"IteratorGetNext", "IteratorGetNextSync", "IteratorGetNextAsOptional", "ReduceDataset"}
)
"""Ops with which a function draws its input by itself."""
