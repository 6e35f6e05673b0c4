"""Private names of TensorFlow, each behind one function; `check` names what is missing."""

import functools
import os
import random
import re
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.checkpoint import checkpoint, checkpoint_management
from tensorflow.python.data.ops import dataset_ops, interleave_op, iterator_ops
from tensorflow.python.distribute import values as distributed
from tensorflow.python.eager import context, record
from tensorflow.python.eager.polymorphic_function import concrete_function, polymorphic_function
from tensorflow.python.framework import (
    auto_control_deps_utils,
    composite_tensor,
    config,
    func_graph,
    ops,
    random_seed,
)
from tensorflow.python.ops import gen_resource_variable_ops, resource_variable_ops
from tensorflow.python.training import py_checkpoint_reader

from pitstop.engine.fence import observing
from pitstop.engine.hooking import Around, Original, hook
from pitstop.engine.values.reachable import cells_of, dict_of
from pitstop.errors import UnsupportedVersion
from pitstop.tensorflow import counted_draws, earlier_traces, event_files, traced_ops, variable_use
from pitstop.tensorflow.pipelines import drawn_inputs
from pitstop.tensorflow.traced_ops import OpKind

PER_REPLICA = distributed.PerReplica  # what `Strategy.run` returns: the value of each replica
_OLDEST = (2, 18)
FUNCTIONS = (polymorphic_function.Function, concrete_function.ConcreteFunction)
_Run = Callable[[], Any]
_CHECKPOINT_FILES = ("update_checkpoint_state_internal", "_delete_file_if_exists")

_NEEDED: tuple[tuple[Any, str], ...] = (
    (py_checkpoint_reader, "NewCheckpointReader"),
    (checkpoint.TrackableSaver, "save"),
    *((checkpoint_management, name) for name in _CHECKPOINT_FILES),
    (checkpoint_management, "get_checkpoint_state"),
    (resource_variable_ops, "VariableSpec"),
    (gen_resource_variable_ops, "read_variable_op"),
    (iterator_ops.OwnedIterator, "_serialize_to_tensors"),
    (iterator_ops.OwnedIterator, "_restore_from_tensors"),
    (dataset_ops.DatasetV2, "_GeneratorState"),
    (interleave_op, "_ParallelInterleaveDataset"),
    (func_graph.FuncGraph, "_create_op_internal"),
    (context, "global_seed"),
    (config, "is_op_determinism_enabled"),
    (ops.EagerTensor, "_numpy"),
    (ops.EagerTensor, "_shape_tuple"),
    (polymorphic_function.Function, "__call__"),
    (polymorphic_function.Function, "_list_all_concrete_functions"),
    (auto_control_deps_utils, "get_read_only_resource_input_indices_graph"),
    (record, "could_possibly_record"),
    (composite_tensor, "CompositeTensor"),
    (PER_REPLICA, "values"),
    (concrete_function.ConcreteFunction, "__call__"),
    *counted_draws.NEEDED,
    *drawn_inputs.NEEDED,
    *earlier_traces.NEEDED,
    *event_files.NEEDED,
    *variable_use.NEEDED,
)


def check() -> None:
    """Raises `UnsupportedVersion` for a TensorFlow that is too old, or lacks a private name."""
    if tuple(int(part) for part in tf.__version__.split(".")[:2]) < _OLDEST:
        raise UnsupportedVersion(
            f"TensorFlow {tf.__version__} is too old for exact resume.",
            "Use TensorFlow 2.18 or later, or continue without snapshots.",
        )
    for owner, name in _NEEDED:
        if not hasattr(owner, name):
            where = getattr(owner, "__name__", str(owner))
            raise UnsupportedVersion(
                f"TensorFlow {tf.__version__} has no {where}.{name}, which exact resume needs.",
                "Use TensorFlow 2.21, or continue without snapshots.",
            )


def on_variable_created(notify: Callable[[Any], None]) -> None:
    """Calls `notify` with every resource variable once it is initialised, not with reads of it."""
    notify = observing(spoils=True)(notify)

    def create(original: Original, variable: Any, /, *args: Any, **kwargs: Any) -> None:
        original(variable, *args, **kwargs)
        if not isinstance(variable, resource_variable_ops._UnreadVariable):
            notify(variable)

    hook(resource_variable_ops.BaseResourceVariable, "__init__", create)


def on_checkpoint_read(notify: Callable[[str], None]) -> None:
    def read(original: Callable[[Any], Any], filepattern: Any) -> Any:
        notify(f"{os.fspath(filepattern)}.index")
        return original(filepattern)

    hook(py_checkpoint_reader, "NewCheckpointReader", read)


def on_checkpoint_sought(notify: Callable[[str], None], look: Callable[[str, _Run], Any]) -> None:
    """Tells each folder in which the script asks for the newest `tf.train` checkpoint.

    What reads a folder's list of checkpoints goes through `look`.
    """

    def read(original: Original, /, checkpoint_dir: Any, *args: Any, **kwargs: Any) -> Any:
        run = functools.partial(original, checkpoint_dir, *args, **kwargs)
        return look(os.fsdecode(checkpoint_dir), run)

    def find(original: Original, /, checkpoint_dir: Any, *args: Any, **kwargs: Any) -> Any:
        notify(os.fsdecode(checkpoint_dir))
        return original(checkpoint_dir, *args, **kwargs)

    def find_managed(original: Original, manager: Any) -> Any:
        notify(os.fsdecode(manager.directory))
        return original(manager)

    manager = tf.train.CheckpointManager
    newest = functools.partial(find_managed, manager.latest_checkpoint.fget)
    manager.latest_checkpoint = property(newest)
    hook(manager, "restore_or_initialize", find_managed)
    hook(tf.train, "latest_checkpoint", find)
    for owner in (checkpoint_management, tf.train):
        hook(owner, "get_checkpoint_state", read)


def around_checkpoint_writes(write: Callable[[_Run, _Run, str], Any]) -> None:
    """Leads what writes the files of a `tf.train.Checkpoint` through `write`; the last is where."""

    def save(
        original: Original,
        saver: Any,
        file_prefix: Any,
        checkpoint_number: Any = None,
        **kwargs: Any,
    ) -> Any:
        is_path = isinstance(file_prefix, str | bytes | os.PathLike)
        prefix = os.fsdecode(file_prefix) if is_path else ""

        def path() -> Any:
            # The script may remove it next, as workers do that are not the chief.
            tf.io.gfile.makedirs(os.path.dirname(prefix) or ".")  # noqa: PTH120
            number = f"-{int(checkpoint_number)}" if checkpoint_number else ""
            return tf.constant(file_prefix) + number

        run = functools.partial(original, saver, file_prefix, checkpoint_number, **kwargs)
        return write(run, path, prefix)

    def write_file(original: Original, /, *args: Any, **kwargs: Any) -> None:
        write(functools.partial(original, *args, **kwargs), lambda: None, "")

    hook(checkpoint.TrackableSaver, "save", save)
    for name in _CHECKPOINT_FILES:
        hook(checkpoint_management, name, write_file)


class TracedOps:
    """How many there were since the first `on_traced_op`."""

    count = 0


def on_traced_op(notify: Mapping[OpKind, Callable[[str], None]]) -> None:
    """Calls what is named for its kind with the type of each op that is traced, draws left out."""

    @observing(spoils=True)
    def look(graph: Any, op_type: str, attributes: Mapping[str, Any] | None) -> None:
        kind = traced_ops.kind_of(op_type, attributes or {})
        is_drawn = kind is OpKind.INPUT and drawn_inputs.is_drawing()
        if kind in notify and kind and not (is_drawn or traced_ops.is_for_shapes(graph)):
            notify[kind](op_type)

    def create(original: Original, graph: Any, /, op_type: str, *args: Any, **kwargs: Any) -> Any:
        TracedOps.count += 1
        # The sixth argument, after inputs, dtypes, input_types and name.
        look(graph, op_type, kwargs.get("attrs") or (args[4] if len(args) > 4 else None))
        return original(graph, op_type, *args, **kwargs)

    hook(func_graph.FuncGraph, "_create_op_internal", create)


def around_function_calls(around: Around) -> None:
    for owner in FUNCTIONS:
        hook(owner, "__call__", around)


def is_function(value: Any) -> bool:
    return isinstance(value, FUNCTIONS)


def functions_behind(value: Any) -> list[Any]:
    """The `tf.function`s in a function of Keras: that of a step, and that of a batch in it."""
    found = layer = [value]
    for _ in range(2):
        python = [each for each in layer if isinstance(each, types.FunctionType)]
        layer = [cell for each in python for cell in cells_of(each).values()]
        found = found + layer
    return [each for each in found if is_function(each)]


def with_bound(function: Any) -> list[Any]:
    """The function, and those that stand for it as a method of one object."""
    return [function, *getattr(function, "_descriptor_cache", {}).values()]


def function_name(function: Any) -> str:
    if isinstance(function, concrete_function.ConcreteFunction):
        return str(function.graph.name)
    return str(function._name)


def traces(function: Any) -> int:
    if isinstance(function, concrete_function.ConcreteFunction):
        return 1
    return int(function.experimental_get_tracing_count())


def runs_eagerly(function: Any) -> bool:
    return bool(getattr(function, "_run_functions_eagerly", False))


def trains(function: Any) -> bool:
    return any(_writes_trainable(graph) for graph in graphs(function))


def graphs(function: Any) -> list[Any]:
    """The graphs that calls of a function run; not the one that creates variables."""
    if isinstance(function, concrete_function.ConcreteFunction):
        return [function.graph]
    first = function._concrete_variable_creation_fn if function._created_variables else None
    return [each.graph for each in function._list_all_concrete_functions() if each is not first]


def _writes_trainable(graph: Any) -> bool:
    # The same analysis by which TensorFlow orders ops that touch one resource.
    unwritten = set(auto_control_deps_utils.get_read_only_resource_input_indices_graph(graph))
    trainable: set[int | None] = {id(each.handle) for each in graph.variables if each.trainable}
    outer = {id(inner): id(captured) for captured, inner in graph.captures}
    given = tf.nest.flatten(graph.structured_input_signature)
    specs = (each for each in given if isinstance(each, resource_variable_ops.VariableSpec))
    if any(each.trainable for each in specs):
        # What is given is not captured.
        trainable.add(None)
    return any(
        outer.get(id(tensor)) in trainable
        for index, tensor in enumerate(graph.inputs)
        if tensor.dtype == tf.resource and index not in unwritten
    )


def generators_of(part: Any) -> Iterator[Any]:
    """What `from_generator` calls for the rows, where this part of a pipeline holds it."""
    function = dict_of(part).get("_func")
    if isinstance(function, types.FunctionType):
        # It is two functions deep: in one that makes ops, which lies in one that makes a dataset.
        inner = [each for each in cells_of(function).values() if type(each) is types.FunctionType]
        for held in (held for each in inner for held in cells_of(each).values()):
            if isinstance(held, dataset_ops.DatasetV2._GeneratorState):
                yield held._generator


def resolver_of(strategy: Any) -> Any:
    """That of a ParameterServerStrategy, whose `cluster_resolver` is None; None for no such."""
    return getattr(strategy, "_cluster_resolver", None)


def is_eager_tensor(value: Any) -> bool:
    return isinstance(value, ops.EagerTensor)


def shape_of(tensor: Any) -> tuple[int, ...]:
    return tuple(tensor._shape_tuple())


def is_composite(value: Any) -> bool:
    return isinstance(value, composite_tensor.CompositeTensor)


def tape_is_open() -> bool:
    return bool(record.could_possibly_record())


def hidden_random_ops(graph: Any, initializers: Iterable[Any]) -> list[str]:
    before: set[Any] = set()
    waiting = list(initializers)
    while waiting:
        operation = waiting.pop()
        if operation not in before:
            before.add(operation)
            waiting += [tensor.op for tensor in operation.inputs]
    found = [each for each in graph.get_operations() if each not in before]
    return sorted(
        {each.type for each in found if traced_ops.draws_hidden(each.type, each.node_def.attr)}
    )


def is_eager_variable(variable: Any) -> bool:
    return isinstance(variable.handle, ops.EagerTensor) and not variable.handle.is_packed


def hold_value(variable: Any) -> Any:
    """The variable's present value as a tensor that shares its buffer (on CPU)."""
    return gen_resource_variable_ops.read_variable_op(variable.handle, variable.dtype)


def as_numpy(tensor: Any) -> Any:
    return tensor._numpy()


def is_serializable(iterator: Any) -> bool:
    return isinstance(iterator, iterator_ops.OwnedIterator)


def serialize_iterator(iterator: Any) -> bytes:
    """The state of a `tf.data` iterator.

    Raises `tf.errors.FailedPreconditionError` where the pipeline holds state that cannot be
    serialised (the message names the op), `tf.errors.UnimplementedError` where an op does not
    support it.
    """
    state = iterator._serialize_to_tensors()["_STATE"]
    return bytes(tf.io.serialize_tensor(state).numpy())


_SEED_COUNT = re.compile(rb"[\x20-\x7e]*num_random_samples")
_FIRST_PART = b"Concatenate[0]"
_LATER_PART = re.compile(rb"Concatenate\[[1-9]")


def is_in_first_part(state: bytes) -> bool:
    """Whether an iterator over a concatenation has not come to its second dataset."""
    return _FIRST_PART in state and not _LATER_PART.search(state)


def seed_counts(state: bytes) -> set[bytes]:
    """Names of the shuffles whose seed counts an iterator's state has; none that have ended."""
    return set(_SEED_COUNT.findall(state))


def sets_all_seeds(state: bytes, fresh: bytes) -> bool:
    """Whether to restore a state sets the seed counts of all shuffles, as in a `fresh` iterator's.

    It sets none of the ended parts of a concatenation.
    """
    return seed_counts(state) >= seed_counts(fresh) and not _LATER_PART.search(state)


def restore_iterator(iterator: Any, state: bytes) -> None:
    tensor = tf.io.parse_tensor(tf.constant(state), tf.variant)
    iterator._restore_from_tensors({"_STATE": tensor})


def eager_stream() -> Any:
    return getattr(context.context(), "_rng", None)


def eager_seed() -> tuple[int | None, Any]:
    """TensorFlow's global seed and the state of its eager seed stream; None when unset."""
    generator = eager_stream()
    return context.global_seed(), generator.getstate() if generator is not None else None


def set_eager_seed(seed: int | None, state: Any) -> None:
    if seed is None or state is None:
        return
    if context.global_seed() != seed:
        tf.random.set_seed(seed)
    current = context.context()
    current._rng = random.Random()
    current._rng.setstate(state)
    # Kernels cache the seeds they were made with.
    current.clear_kernel_cache()


def seed_unseeded_ops(draw: Callable[[], tuple[int, int] | None]) -> None:
    def get_seed(original: Callable[[Any], Any], op_seed: Any) -> Any:
        seeds = original(op_seed)
        return draw() or seeds if seeds[0] is None else seeds

    hook(random_seed, "get_seed", get_seed)


def deterministic_ops() -> bool:
    return bool(config.is_op_determinism_enabled())
