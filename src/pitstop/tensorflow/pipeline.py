"""The stages of a `tf.data` pipeline: what can be told of it before it is read."""

import inspect
import re
from collections.abc import Collection, Iterator
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import dataset_ops, interleave_op
from tensorflow.python.framework import op_def_registry

from pitstop.engine.described import digest_of
from pitstop.engine.fence import observing
from pitstop.engine.hooking import Original, hook
from pitstop.record import Frozen
from pitstop.tensorflow import traced_ops


def of_one_device(dataset: Any) -> Any:
    dealt_out = getattr(dataset, "_original_dataset", None)
    if dealt_out is None:
        dealt_out = next(iter(getattr(dataset, "_datasets", ())), None)
    return dataset if hasattr(dataset, "_inputs") or dealt_out is None else dealt_out


def is_repeatable(dataset: Any) -> bool:
    """Whether an input is read by this process alone, or dealt out to devices in a fixed way."""
    strategy = getattr(dataset, "_strategy", None)
    is_dealt_out = isinstance(of_one_device(dataset), tf.data.Dataset)
    return isinstance(dataset, tf.data.Dataset) or (
        is_dealt_out and isinstance(strategy, _MIRRORED)
    )


def is_deterministic(dataset: Any) -> bool:
    """Whether a pipeline that can be saved gives the same elements again, by its options."""
    policy = dataset.options().experimental_external_state_policy
    return policy is None and not leaves_order_open(dataset)


def file_cache_of(dataset: Any) -> str:
    caches = (bytes(stage._filename.numpy()).decode() for stage in _stages(dataset, "_filename"))
    snapshots = (str(stage._path) for stage in _stages(dataset, "_shard_func"))
    return next((name for name in (*caches, *snapshots) if name), "")


_MIRRORED = (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy)
_SOURCE_NAMES = """
_FixedLengthRecordDataset _RangeDataset _TensorDataset _TensorSliceDataset _TextLineDataset
_TFRecordDataset"""
_SOURCES = frozenset(_SOURCE_NAMES.split())
"""Stages that give the same elements to each reader, in one order."""


def is_known(dataset: Any) -> bool:
    """Whether all that a pipeline reads from is seen, and gives the same to each reader."""
    sources = [each for each in every_stage(dataset) if not each._inputs()]
    known = all(type(each).__name__ in _SOURCES for each in sources)
    return bool(sources) and known and not file_cache_of(dataset)


_READERS = frozenset({"TFRecordDataset", "TFRecordDatasetV2", "TextLineDataset"})


def reads_again(dataset: Any) -> bool:
    """Whether each reading of a pipeline surely gives the same elements in the same order."""
    held = (each for _, function in _functions(dataset) for each in function.captured_inputs)
    same = not draws(dataset) and is_known(dataset) and is_deterministic(dataset)
    functions = all(stage.ops <= _READERS for stage in stateful_stages(dataset))
    return same and functions and not any(each.dtype == tf.resource for each in held)


def draws(dataset: Any) -> bool:
    """Whether a pipeline itself draws anew in each reading: an order, or random numbers."""
    drawing = any(stage.random_ops for stage in stateful_stages(dataset))
    return drawing or any(map(_is_drawn, every_stage(dataset)))


def _is_drawn(stage: Any) -> bool:
    is_shuffle = getattr(stage, "_reshuffle_each_iteration", False) is not False
    return is_shuffle or bool(getattr(stage, "_rerandomize", None))


def cached_in_memory(dataset: Any) -> Iterator[Any]:
    for stage in _stages(dataset, "_filename"):
        if not stage._filename.numpy():
            yield from stage._inputs()


def repeats_a_shuffle(dataset: Any) -> bool:
    return any(_reseeded(dataset, in_parts=True, is_ahead=True, is_repeated=False))


def leaves_order_open(dataset: Any) -> bool:
    stages = [stage._deterministic for stage in _stages(dataset, "_deterministic")]
    if "false" in stages or ("default" in stages and dataset.options().deterministic is False):
        return True
    # Of datasets that a function of the pipeline makes.
    inner = (each for _, function in _functions(dataset) for each in _nodes_of(function.graph))
    return any(node.attr["deterministic"].s == b"false" for node in inner)


_datasets: WeakValueDictionary[int, Any] = WeakValueDictionary()
"""Datasets of this process, by the identity of their tensor: all that a function captures."""


def watch() -> None:
    """Has known what datasets themselves do not keep; those made before tell less."""
    _watch_orders()

    def make(original: Original, dataset: Any, variant_tensor: Any) -> None:
        original(dataset, variant_tensor)
        _datasets[id(variant_tensor)] = dataset

    hook(dataset_ops.DatasetV2, "__init__", make)


def _watch_orders() -> None:
    """Has an interleave keep, as other stages do, whether its order is left open."""
    kind = interleave_op._ParallelInterleaveDataset
    signature = inspect.signature(kind.__init__)
    words = {None: "default", True: "true", False: "false"}

    @observing(spoils=True)
    def keep(stage: Any, *args: Any, **kwargs: Any) -> None:
        asked = signature.bind(stage, *args, **kwargs).arguments.get("deterministic")
        stage._deterministic = words[asked]

    def make(original: Original, stage: Any, *args: Any, **kwargs: Any) -> None:
        original(stage, *args, **kwargs)
        keep(stage, *args, **kwargs)

    hook(kind, "__init__", make)


def _stages(dataset: Any, attribute: str) -> Iterator[Any]:
    return (stage for stage in every_stage(dataset) if hasattr(stage, attribute))


def share_a_shuffle(one: Any, other: Any) -> bool:
    attribute = "_reshuffle_each_iteration"
    known = {id(stage) for stage in _stages(one, attribute)}
    return any(id(stage) in known for stage in _stages(other, attribute))


def shuffles_read_ahead(dataset: Any, *, in_parts: bool) -> list[Any]:
    """The stages that draw another seed in each repetition, ahead of their reader."""
    if not hasattr(dataset, "_inputs"):
        return []
    injected = dataset.options().experimental_optimization.inject_prefetch is not False
    return list(_reseeded(dataset, in_parts, is_ahead=injected, is_repeated=False))


_REPEATABLE = _READERS | {"LookupTableFindV2", "LookupTableSizeV2", "ReadFile"}


def fills_alike(dataset: Any) -> bool:
    """Whether a cache that keeps an order gets the same from the first reading in any process."""
    if not (isinstance(dataset, tf.data.Dataset) and keeps_an_order(dataset)):
        return False
    stages = stateful_stages(dataset)
    repeatable = all(each.ops <= _REPEATABLE and not each.random_ops for each in stages)
    seeded = all(map(any, seeds_of(dataset))) and is_known(dataset) and is_deterministic(dataset)
    return seeded and repeatable and not variables_of(dataset)


def seeds_of(dataset: Any) -> list[list[int]]:
    shuffles = _stages(dataset, "_reshuffle_each_iteration")
    return [[int(stage._seed), int(stage._seed2)] for stage in shuffles]


def keeps_an_order(dataset: Any) -> bool:
    """Whether a cache in memory keeps what a shuffle gave, with no shuffle after it."""
    if not hasattr(dataset, "_inputs") or hasattr(dataset, "_reshuffle_each_iteration"):
        return False
    if hasattr(dataset, "_filename"):
        return any(_stages(dataset, "_reshuffle_each_iteration"))
    return any(map(keeps_an_order, dataset._inputs()))


_AHEAD = ("Prefetch", "Parallel", "Map")
"""In the names of stages that run in threads; TensorFlow makes a map parallel by itself."""


def _reseeded(stage: Any, in_parts: bool, *, is_ahead: bool, is_repeated: bool) -> Iterator[Any]:
    name = type(stage).__name__
    if name == "_RepeatDataset" and is_ahead:
        count = int(stage._count)
        is_repeated = is_repeated or count < 0 or (in_parts and count > 1)
    if is_repeated and _is_drawn(stage):
        yield stage
    is_ahead = is_ahead or any(word in name for word in _AHEAD)
    for each in getattr(stage, "_inputs", tuple)():
        yield from _reseeded(each, in_parts, is_ahead=is_ahead, is_repeated=is_repeated)


def source_tensors(dataset: Any) -> list[Any]:
    held = (each for stage in every_stage(dataset) for each in getattr(stage, "_tensors", ()))
    return [readable(each) for each in held if hasattr(each, "numpy")]


def readable(tensor: Any) -> Any:
    """A tensor that NumPy can read: of a ragged or a sparse one, its bytes; else its kind."""
    if tensor.dtype != tf.variant:
        return tensor
    return np.frombuffer(tf.io.serialize_tensor(tensor).numpy(), np.uint8)


_STAGE_NUMBERS = ("_buffer_size", "_batch_size", "_count")


def pipeline_of(dataset: Any) -> str:
    """The stages in their order: "TensorSlice > Shuffle 100 > Batch 32"; empty for others."""
    inputs = getattr(dataset, "_inputs", None)
    if inputs is None:
        return ""
    before = [pipeline_of(each) for each in inputs()]
    name = type(dataset).__name__.strip("_").removesuffix("Dataset")
    # How far a prefetch reads ahead is no part of an iterator's position.
    told = () if name == "Prefetch" else _STAGE_NUMBERS
    numbers = (getattr(dataset, each, None) for each in told)
    stage = " ".join([name, *(str(int(number)) for number in numbers if number is not None)])
    sources = f"({', '.join(before)})" if len(before) > 1 else "".join(before)
    return f"{sources} > {stage}" if sources else stage


FROM_GENERATOR = "from_generator"  # the name of a stage that runs a generator of Python


class StatefulStage(Frozen):
    """A stage whose function keeps state beside the iterator."""

    name: str  # as the script calls it: "map", "filter"
    ops: frozenset[str]  # types of the function's stateful ops, those of inner functions included
    is_parallel: bool  # elements go through it at the same time
    only_variables: bool  # everything it holds is a variable that `variables_of` gives
    random_ops: frozenset[str] = frozenset()  # those that draw from a hidden stream


def stateful_stages(dataset: Any) -> list[StatefulStage]:
    found = []
    for stage, function in _functions(dataset):
        ops, drawing = _stateful_ops(function.graph)
        if ops or drawing:
            handles = [each for each in function.captured_inputs if each.dtype == tf.resource]
            known = [variable.handle for variable in function.graph.variables]
            only_variables = all(any(each is handle for handle in known) for each in handles)
            is_parallel = getattr(stage, "_num_parallel_calls", None) is not None
            name = FROM_GENERATOR if "GeneratorDataset" in ops else _name_of(stage)
            found.append(StatefulStage(name, ops, is_parallel, only_variables, drawing))
    return found


_FAIL = 2  # DatasetToGraph's policy for state outside of the iterator
_REFUSED_OP = re.compile(r"(\w+) is stateful")


def refused_op(dataset: Any) -> str | None:
    """The op for which TensorFlow refuses to save an iterator, empty if unnamed; None for none.

    An iterator itself tells only of what it still reads from, and nothing where an option of the
    dataset says so.  The function alone, in a map of no elements, always tells.
    """
    for _, function in _functions(dataset):
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


def contents_of(dataset: Any) -> Iterator[str]:
    for stage in every_stage(dataset):
        yield type(stage).__name__
        for tensor in tf.nest.flatten(getattr(stage, "_tensors", ())):
            if hasattr(tensor, "numpy"):
                yield digest_of(np.asarray(readable(tensor)))
    for _, function in _functions(dataset):
        # Names of functions contain a number that counts over the whole process.
        definition = function.graph.as_graph_def()
        yield " ".join(f"{node.op}{sorted(_plain_attributes(node))}" for node in definition.node)
        for held in function.captured_inputs:
            if held.dtype not in (tf.resource, tf.variant) and hasattr(held, "numpy"):
                yield digest_of(np.asarray(held.numpy()))


def _plain_attributes(node: Any) -> Iterator[str]:
    for name, value in node.attr.items():
        if not name.startswith("_") and value.WhichOneof("value") not in ("func", "list"):
            yield f"{name}={value.SerializeToString(deterministic=True).hex()}"


def variables_of(dataset: Any) -> list[Any]:
    """In the order of their use, which is the same in each process."""
    variables = (each for _, function in _functions(dataset) for each in _used_by(function))
    return list({id(variable): variable for variable in variables}.values())


def _used_by(function: Any) -> list[Any]:
    # The graph itself gives them in the order of their addresses.
    places = {id(held): place for place, held in enumerate(function.captured_inputs)}
    return sorted(function.graph.variables, key=lambda each: places.get(id(each.handle), -1))


def _functions(dataset: Any) -> Iterator[tuple[Any, Any]]:
    for stage in every_stage(dataset):
        yield from _functions_of(stage)


def _functions_of(stage: Any) -> Iterator[tuple[Any, Any]]:
    for value in list(vars(stage).values()):
        function = getattr(value, "function", None)
        if hasattr(function, "captured_inputs"):
            yield stage, function


def every_stage(dataset: Any) -> Iterator[Any]:
    """Also of datasets from elsewhere that a function of the pipeline uses."""
    if hasattr(dataset, "_inputs"):
        yield dataset
        for each in dataset._inputs():
            yield from every_stage(each)
        for _, function in _functions_of(dataset):
            captured = (_datasets.get(id(each)) for each in function.captured_inputs)
            for each in captured:
                yield from every_stage(each)


def _stateful_ops(graph: Any) -> tuple[frozenset[str], frozenset[str]]:
    nodes = _nodes_of(graph)
    known = ((node.op, op_def_registry.get(node.op)) for node in nodes)
    stateful = frozenset(name for name, op in known if op is not None and op.is_stateful)
    zeros = {node.name for node in nodes if node.op == "Const" and _is_zero(node.attr["value"])}
    drawing = (
        node.op
        for node in nodes
        if traced_ops.draws_hidden(node.op, node.attr) or _is_unseeded(node, zeros)
    )
    return stateful, frozenset(drawing)


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
