"""Random ops of a `tf.function`, drawn so that their place can be saved.

A stateful random op counts in its kernel what it has drawn. Nobody can read or set this count. The
stateless op of the same distribution takes key and counter as inputs, and draws the same numbers on
a CPU: see `GuardedPhiloxRandom` and `PhiloxRandomOp` in tensorflow/core. The count is kept in a
variable of the runtime instead.
"""

import functools
import inspect
import re
import sys
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import mirrored_run
from tensorflow.python.eager import context, lift_to_graph, record
from tensorflow.python.eager.polymorphic_function import polymorphic_function
from tensorflow.python.framework import ops, random_seed
from tensorflow.python.ops import (
    gen_random_ops,
    gen_resource_variable_ops,
    gen_stateless_random_ops_v2,
)
from tensorflow.python.ops.parallel_for import control_flow_ops as parallel_loops

from pitstop.engine.fence import fenced
from pitstop.engine.frames import place_on_stack
from pitstop.engine.hooking import Original, hook
from pitstop.engine.randomness.outside import OUTSIDE
from pitstop.tensorflow import draw_counters
from pitstop.tensorflow.strategies import is_mirrored

_STATELESS = {
    name: getattr(gen_stateless_random_ops_v2, f"stateless_{stateless}_v2")
    for name, stateless in (
        ("random_standard_normal", "random_normal"),
        ("random_uniform", "random_uniform"),
        ("random_uniform_int", "random_uniform_int"),
        ("truncated_normal", "truncated_normal"),
    )
}
_GIVES = "_get_concrete_function_garbage_collected"
"""What `get_concrete_function` and an export get it by."""
NEEDED: tuple[tuple[Any, str], ...] = (
    *((gen_random_ops, name) for name in _STATELESS),
    *((context.Context, name) for name in ("clear_kernel_cache", "_set_global_seed")),
    (polymorphic_function.Function, _GIVES),
    (polymorphic_function.Function, "_clone"),
    *draw_counters.NEEDED,
    (lift_to_graph, "lift_to_graph"),
    (mirrored_run._MirroredReplicaThread, "__init__"),
    (parallel_loops, "_pfor_impl"),
    (random_seed, "get_seed"),
)
"""The private names that are used here, see `private.check`."""

_PHILOX = 1
_SAMPLES_PER_OUTPUT = 256
"""What a stateful op passes over for each number that it draws (random_op.cc)."""

Draws = dict[str, list[list[int]]]
"""For a trace, by its inputs' types, and each random op: seed, samples passed, second seed."""

_OTHER_DRAWS = "{} draws random numbers by other ops than before"
_OTHER_TRACE = "{} draws random numbers, and was traced for another input than before"
_SEVERAL = "{} draws random numbers, and has several traces for inputs of the same types"
_TAPED = "{} draws random numbers, and is called both with and without a gradient tape"
_REUSED = "one trace of {} is called from two functions, each with draws of its own"


class _Trace:
    """One graph of a function. `inputs`: what it was traced for; `ops`: how many are counted."""

    def __init__(self, graph: Any, arguments: Any) -> None:
        captured = {id(inner) for _, inner in graph.captures}
        given = (each for each in graph.inputs if id(each) not in captured)
        types = ", ".join(f"{each.dtype.name}{each.shape}" for each in given)
        self.inputs = f"{types} in {tf.nest.map_structure(_in_words, arguments)}"
        self.graph = weakref.ref(graph)
        self.name = self.inputs
        self.ops = 0


def _in_words(argument: Any) -> str:
    is_plain = isinstance(argument, bool | int | float | str | None)
    return repr(argument) if is_plain else ""


class CountedDraws:
    """Those of one `tf.function`.

    `doubt`: why they may not go on as saved, with a place for its name; empty for none.

    TensorFlow makes kernels for each function that calls it, and for calls from Python. Draws are
    counted for calls like the first one: `nested`, or from Python. `in_order`: a resume traces the
    function in the same order as before.
    """

    def __init__(self) -> None:
        self.nested: bool | None = None
        self._traces: list[_Trace] = []
        # By name of a trace, a variable of the runtime for each random op.
        self._handles: defaultdict[str, list[Any]] = defaultdict(list)
        self._saved: Draws = {}  # of an earlier attempt
        self._is_continued = True  # whether one of its traces was made again, if there were any
        self._uncounted: Any = None  # see `uncounted`
        self.in_order = False
        self.doubt = ""
        _ALL.add(self)

    @property
    def are_any(self) -> bool:
        return bool(self._traces)

    def uncounted(self, function: Any) -> Any:
        """The same function with traces of its own, for calls of the other kind."""
        if self._uncounted is None:
            self._uncounted = function._clone(None)
        return self._uncounted

    # -- tracing ---------------------------------------------------------------------

    def begin_trace(self, trace: _Trace, dead: Any) -> None:
        """`dead`: the graph of a trace that was made for its variables, and is not run."""
        for each in [each for each in self._traces if dead is not None and each.graph() is dead]:
            self._traces.remove(each)
            del self._handles[each.name]
        same = (each for each in self._traces if each.inputs == trace.inputs)
        if others := sum(each.graph() is not None for each in same):
            trace.name = f"{trace.inputs}#{others}"
        elif trace.inputs not in self._saved:
            # A trace for any batch size takes the calls for one size, where it came first.
            general = (name for name in self._saved if _covers(name, trace.inputs))
            trace.name = next(general, trace.inputs)
        self._traces.append(trace)
        self._is_continued |= trace.name in self._saved
        if not self._is_continued:
            self.doubt = _OTHER_TRACE

    def add(self, trace: _Trace, seed: int, seed2: int) -> Any:
        """The variable of the next random op in a trace."""
        handles = self._handles[trace.name]
        at, trace.ops = trace.ops, trace.ops + 1
        if at == len(handles):
            saved = self._saved.get(trace.name, ())
            draws = saved[at] if at < len(saved) else [seed, 0, seed2]
            handles.append(draw_counters.make(draws))
        return handles[at]

    def end_trace(self, trace: _Trace) -> None:
        expected = self._saved.get(trace.name, self._handles[trace.name])
        if trace in self._traces and len(expected) != trace.ops:
            self.doubt = _OTHER_DRAWS

    def inside(self, graph: Any, trace: _Trace) -> list[Any]:
        """The variables of a trace, as its graph names them."""
        handles = {id(each) for each in self._handles[trace.name]}
        return [inner for captured, inner in graph.captures if id(captured) in handles]

    # -- saving ----------------------------------------------------------------------

    def capture(self, graphs: Collection[Any]) -> Draws:
        """`graphs`: those that calls of the function run; others were traced for their variables.

        What this attempt has not traced again is kept as it was saved.
        """
        living = [each for each in self._traces if each.graph() in graphs]
        if len({each.inputs for each in living}) < len(living) and not self.in_order:
            self.doubt = _SEVERAL
        names = {each.name for each in living}
        handles = {name: self._handles[name] for name in names}
        return self._saved | {n: list(map(draw_counters.read, each)) for n, each in handles.items()}

    def restore(self, saved: Draws) -> None:
        self._saved = dict(saved)
        self._is_continued = not saved or not self._handles.keys().isdisjoint(saved)
        for name, handles in self._handles.items():
            for handle, draws in zip(handles, saved.get(name, ()), strict=False):
                draw_counters.assign(handle, draws)

    def begin_anew(self) -> None:
        at_start = draw_counters.at_start
        self._saved = {name: list(map(at_start, draws)) for name, draws in self._saved.items()}
        for handle in (each for handles in self._handles.values() for each in handles):
            draw_counters.assign(handle, at_start(draw_counters.read(handle)))


def _covers(general: str, inputs: str) -> bool:
    return bool(re.fullmatch(re.escape(general).replace("None", r"(\d+|None)"), inputs))


_ALL: weakref.WeakSet[CountedDraws] = weakref.WeakSet()
_OF: weakref.WeakKeyDictionary[Any, CountedDraws] = weakref.WeakKeyDictionary()


def of(function: Any) -> CountedDraws | None:
    return None if function is None else _OF.get(function)


class _CountedCall:
    """A call of a function, during which it may be traced.

    A class with slots, because each training step makes one.
    """

    __slots__ = ("arguments", "caller", "function", "traces")

    def __init__(self, function: Any, arguments: Any, caller: Any) -> None:
        self.function = function
        self.arguments = arguments
        self.caller = caller  # the graph that calls it
        self.traces: dict[Any, _Trace] = {}  # the traces that it makes, by graph


class _Tracing(threading.local):
    """The innermost call of a function in this thread whose draws are counted."""

    call = _CountedCall(None, None, None)


_tracing = _Tracing()


def count(function: Any) -> bool:
    """Counts the draws of a `tf.function`; False if it cannot, or if it counts them already."""
    if (
        not isinstance(function, polymorphic_function.Function)
        or function in _OF
        or function.experimental_get_tracing_count()
        or function._jit_compile
        or (tf.distribute.has_strategy() and not is_mirrored(tf.distribute.get_strategy()))
        or tf.config.list_logical_devices("GPU")  # Its kernels draw other numbers.
    ):
        return False
    _OF[function] = CountedDraws()
    return True


@functools.cache
def watch() -> None:
    """Wraps random ops and calls of functions, to count draws; once in a process."""
    for name, stateless in _STATELESS.items():
        signature = inspect.signature(getattr(gen_random_ops, name))
        hook(gen_random_ops, name, functools.partial(_draw, signature, stateless))
    hook(polymorphic_function.Function, "__call__", _call)
    hook(polymorphic_function.Function, _GIVES, _give_uncounted)
    hook(lift_to_graph, "lift_to_graph", _lift)
    hook(mirrored_run._MirroredReplicaThread, "__init__", _begin_replica)
    hook(parallel_loops, "_pfor_impl", _convert)
    hook(random_seed, "get_seed", _seed)
    for name in ("clear_kernel_cache", "_set_global_seed"):
        hook(context.Context, name, _clear)


def _call(original: Original, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    draws = of(function)
    if draws is None:
        return original(function, *args, **kwargs)
    is_nested = not context.executing_eagerly()
    if draws.nested is None:
        draws.nested = is_nested
    if draws.nested is not is_nested:
        called = draws.uncounted(function) if draws.are_any else function
        return original(called, *args, **kwargs)
    if not is_nested and draws.are_any and record.could_possibly_record():
        draws.doubt = _TAPED
    # Draws in a branch, a loop or a function that is traced inside of this one are not counted.
    before, call = _tracing.call, _CountedCall(function, (args, kwargs), ops.get_default_graph())
    _tracing.call = call
    try:
        result = original(function, *args, **kwargs)
    finally:
        _tracing.call = before
    for trace in call.traces.values():
        draws.end_trace(trace)
    if is_nested and draws.are_any and not call.traces:
        draws.doubt = _REUSED
    return result


def _give_uncounted(original: Original, function: Any, /, *args: Any, **kwargs: Any) -> Any:
    """The script may export what it gets, which a count that belongs to no object would hinder."""
    draws = of(function)
    if draws is not None and draws.are_any:
        function = draws.uncounted(function)
    return original(function, *args, **kwargs)


def _begin_replica(original: Original, thread: Any, /, *args: Any, **kwargs: Any) -> None:
    """A mirrored strategy traces a replica in a thread of its own, into the same graph."""
    original(thread, *args, **kwargs)
    with fenced(spoils=True):
        if _tracing.call.function is not None and is_mirrored(thread.distribution):
            thread.main_fn = functools.partial(_in_replica, _tracing.call, thread.main_fn)


def _in_replica(call: _CountedCall, main: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
    _tracing.call = call
    return main(*args, **kwargs)


def _lift(original: Original, tensors: Any, graph: Any, /, *args: Any, **kwargs: Any) -> Any:
    """A function that creates a variable may draw its first value, which TensorFlow draws apart."""
    if (draws := of(_tracing.call.function)) is not None:
        for traced, trace in _tracing.call.traces.items():
            if all(each.graph is traced for each in tensors):
                sources = draws.inside(traced, trace)
                kwargs = {"sources": sources, "handle_captures": True} | kwargs
    return original(tensors, graph, *args, **kwargs)


def _convert(original: Original, /, *args: Any, **kwargs: Any) -> Any:
    """A parallel loop exchanges the ops of its body for others, which draw once for each round."""
    before, _tracing.call = _tracing.call, _CountedCall(None, None, None)
    try:
        return original(*args, **kwargs)
    finally:
        _tracing.call = before


def _seed(original: Original, op_seed: int | None) -> Any:
    """An eager op with its own seed has one kernel; others have one for each draw."""
    caller = sys._getframe(2)
    is_random_op = caller.f_globals.get("__name__", "").startswith("tensorflow.python.ops.")
    if op_seed is not None and is_random_op and tf.executing_eagerly():
        OUTSIDE.drawn_by_seeded_op(place_on_stack)
    return original(op_seed)


def _clear(original: Original, /, *args: Any, **kwargs: Any) -> Any:
    """Kernels are made anew, and begin at 0."""
    result = original(*args, **kwargs)
    for draws in list(_ALL):
        draws.begin_anew()
    return result


def _draw(
    signature: inspect.Signature,
    stateless: Callable[..., Any],
    original: Original,
    /,
    *args: Any,
    **kwargs: Any,
) -> Any:
    with fenced(spoils=True):  # The script's code has made the arguments by now.
        given = signature.bind(*args, **kwargs).arguments
        counter = _counter(given.pop("seed", 0) or 0, given.pop("seed2", 0) or 0)
        if counter is not None:
            # XLA may compile parts of a graph: it draws other numbers, and leaves stateful ops out.
            with tf.xla.experimental.jit_scope(compile_ops=False):
                return _drawn(stateless, counter, given)
    return original(*args, **kwargs)


def _drawn(stateless: Callable[..., Any], counter: Any, given: dict[str, Any]) -> Any:
    place = tf.cast(gen_resource_variable_ops.read_variable_op(counter, tf.int64), tf.uint64)
    shape = tf.convert_to_tensor(given.pop("shape"))
    samples = tf.reduce_prod(tf.cast(shape, tf.int64)) * _SAMPLES_PER_OUTPUT
    gen_resource_variable_ops.assign_add_variable_op(counter, tf.stack([0, samples, 0]))
    return stateless(shape=shape, key=place[:1], counter=place[1:], alg=_PHILOX, **given)


def _counter(seed: int, seed2: int) -> Any:
    """The variable of the random op that is traced now; None where it is not counted."""
    graph, call = ops.get_default_graph(), _tracing.call
    draws = of(call.function)
    if draws is None or getattr(graph, "outer_graph", None) is not call.caller:
        return None
    if seed == seed2 == 0:
        return None  # The kernel takes random seeds.
    if graph not in call.traces:
        trace = call.traces[graph] = _Trace(graph, call.arguments)
        draws.begin_trace(trace, _made_for_variables(call.function))
    return draws.add(call.traces[graph], seed, seed2)


def _made_for_variables(function: Any) -> Any:
    """The graph of a first trace that is not run, because it has created variables."""
    first = getattr(function, "_concrete_variable_creation_fn", None)
    return first.graph if first is not None and function._created_variables else None
