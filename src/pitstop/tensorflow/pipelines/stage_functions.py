"""The functions of a `tf.data` pipeline: which state they have, and what is not saved with it."""

import re
from collections.abc import Collection
from typing import Any
from weakref import WeakKeyDictionary

import tensorflow as tf
from tensorflow.python.framework import op_def_registry

from pitstop.record import Frozen
from pitstop.tensorflow import traced_ops
from pitstop.tensorflow.pipelines.stages import every_stage, functions

FROM_GENERATOR = "from_generator"  # the name of a stage that runs a generator of Python

VARIABLE_WRITES = frozenset(
    {"AssignVariableOp", "AssignAddVariableOp", "AssignSubVariableOp", "RngReadAndSkip", "RngSkip"}
)


class StatefulStage(Frozen):
    """A stage whose function keeps state beside the iterator."""

    name: str  # as the script calls it: "map", "filter"
    ops: frozenset[str]  # types of the function's stateful ops, those of inner functions included
    is_parallel: bool  # elements go through it at the same time
    only_variables: bool  # everything it holds is a variable that `variables_of` gives
    random_ops: frozenset[str] = frozenset()  # those that draw from a hidden stream


def stateful_stages(dataset: Any) -> list[StatefulStage]:
    found = []
    for stage, function in functions(dataset):
        facts = graph_facts(function.graph)
        ops, drawing = facts.stateful_ops, facts.random_ops
        if ops or drawing:
            handles = [each for each in function.captured_inputs if each.dtype == tf.resource]
            known = [variable.handle for variable in function.graph.variables]
            only_variables = all(any(each is handle for handle in known) for each in handles)
            is_parallel = getattr(stage, "_num_parallel_calls", None) is not None
            name = FROM_GENERATOR if "GeneratorDataset" in ops else _name_of(stage)
            found.append(StatefulStage(name, ops, is_parallel, only_variables, drawing))
    return found


# They end a step or print; or call functions whose ops are listed by themselves.
_WITHOUT_STATE = {"Assert", "Case", "If", "Print", "PrintV2", "StatefulPartitionedCall", "While"}
_FAIL = 2  # DatasetToGraph's policy for state outside of the iterator
_REFUSED_OP = re.compile(r"(\w+) is stateful")


def refused_op(dataset: Any) -> str | None:
    """The op for which TensorFlow refuses to save an iterator, empty if unnamed; None for none.

    An iterator itself tells only of what it still reads from, and nothing where an option of the
    dataset says so.  The function alone, in a map of no elements, always tells.
    """
    for _, function in functions(dataset):
        try:
            alone = tf.raw_ops.MapDataset(
                input_dataset=_no_elements(),
                other_arguments=[_placeholder(each) for each in function.captured_inputs],
                f=function,
                output_types=[tf.int64],
                output_shapes=[()],
            )
            tf.raw_ops.DatasetToGraphV2(input_dataset=alone, external_state_policy=_FAIL)
        except (tf.errors.FailedPreconditionError, tf.errors.UnimplementedError) as error:
            return op_of_refusal(error)
    return None


def source_not_restored(dataset: Any) -> str:
    """A source that TensorFlow saves, and restores at another position (CSV in 2.21); or empty."""
    names = [type(stage).__name__ for stage in every_stage(dataset)]
    names += [op for stage in stateful_stages(dataset) for op in stage.ops]
    return next((name for name in names if "csv" in name.lower()), "")


def is_saved(dataset: Any) -> bool:
    """Whether the state of an iterator is all that there is to its position."""
    return refused_op(dataset) is None and not source_not_restored(dataset)


def op_of_refusal(error: tf.errors.OpError) -> str:
    refused = _REFUSED_OP.search(str(error.message))
    return refused[1] if refused else ""


def _placeholder(held: Any) -> Any:
    """Of the same type, but small: the whole would be copied."""
    if held.dtype == tf.variant:
        return _no_elements()
    return held if held.dtype == tf.resource else tf.constant([], held.dtype)


def _no_elements() -> Any:
    return tf.raw_ops.RangeDataset(
        start=0, stop=0, step=1, output_types=[tf.int64], output_shapes=[()]
    )


def variables_of(dataset: Any) -> list[Any]:
    """In the order of their use, which is the same in each process."""
    variables = (each for _, function in functions(dataset) for each in _used_by(function))
    return list({id(variable): variable for variable in variables}.values())


def _used_by(function: Any) -> list[Any]:
    # The graph itself gives them in the order of their addresses.
    places = {id(held): place for place, held in enumerate(function.captured_inputs)}
    return sorted(function.graph.variables, key=lambda each: places.get(id(each.handle), -1))


class GraphFacts(Frozen):
    """What is asked of a function's graph; those of inner functions included."""

    stateful_ops: frozenset[str]
    random_ops: frozenset[str]
    in_any_order: bool  # a stage of a dataset that it makes leaves its order open


_FACTS: WeakKeyDictionary[Any, GraphFacts] = WeakKeyDictionary()
"""By graph, which does not change: to list its nodes copies its constants."""


def graph_facts(graph: Any) -> GraphFacts:
    found = _FACTS.get(graph)
    if found is None:
        found = _FACTS[graph] = _facts_of(_nodes_of(graph))
    return found


def _facts_of(nodes: list[Any]) -> GraphFacts:
    known = ((node.op, op_def_registry.get(node.op)) for node in nodes)
    stateful = {name for name, op in known if op is not None and op.is_stateful}
    zeros = {node.name for node in nodes if node.op == "Const" and _is_zero(node.attr["value"])}
    drawing = (
        node.op
        for node in nodes
        if traced_ops.draws_hidden(node.op, node.attr) or _is_unseeded(node, zeros)
    )
    in_any_order = any(node.attr["deterministic"].s == b"false" for node in nodes)
    return GraphFacts(frozenset(stateful - _WITHOUT_STATE), frozenset(drawing), in_any_order)


def _is_zero(value: Any) -> bool:
    is_number = (
        value.tensor.dtype == tf.int64.as_datatype_enum and not value.tensor.tensor_shape.dim
    )
    return is_number and int(tf.make_ndarray(value.tensor)) == 0


def _is_unseeded(node: Any, zeros: Collection[str]) -> bool:
    """Of a shuffle in a function, whose seeds else are those of its graph in each process."""
    seeds = [name.partition(":")[0] for name in node.input[2:4]]
    return node.op == "ShuffleDatasetV3" and all(name in zeros for name in seeds)


def _nodes_of(graph: Any) -> list[Any]:
    inner = graph.as_graph_def().library.function
    nodes = [each.node_def for each in graph.get_operations()]
    return nodes + [node for function in inner for node in function.node_def]


def _name_of(stage: Any) -> str:
    name = type(stage).__name__.strip("_").removesuffix("Dataset").removeprefix("Parallel")
    return "".join(f"_{each.lower()}" if each.isupper() else each for each in name).strip("_")
