"""The inputs that functions were traced for: a resume traces them for the same ones.

A function with `reduce_retracing`, as those of Keras are, is traced for batches of any size when it
is called with a second size. Which graph runs a call thus depends on the calls before it, of which
a resume leaves some out. Graphs differ in the last bit: where a size is known, TensorFlow
multiplies by its reciprocal instead of dividing by it.
"""

import base64
import weakref
from typing import Any, Protocol

import tensorflow as tf
from tensorflow.core.function.polymorphism import function_cache, function_type, type_dispatch
from tensorflow.core.protobuf import struct_pb2
from tensorflow.python.eager.polymorphic_function import function_type_utils, polymorphic_function
from tensorflow.python.saved_model import nested_structure_coder

_Table: Any = type_dispatch.TypeDispatchTable
_Inputs = Any
"""A `FunctionType` of TensorFlow."""

NEEDED: tuple[tuple[Any, str], ...] = (
    (function_cache.FunctionCache, "_dispatch_dict"),
    (function_cache.FunctionCache, "_primary"),
    (function_type_utils, "canonicalize_function_inputs"),
    (function_type_utils, "make_canonicalized_monomorphic_type"),
    *((_Table, name) for name in ("add_target", "delete", "dispatch", "targets")),
    (_Table, "try_generalizing_function_type"),
    *((nested_structure_coder, name) for name in ("decode_proto", "encode_structure")),
)
"""The private names that are used here, see `private.check`."""

_EARLIER: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()
_KNOWN: weakref.WeakKeyDictionary[Any, tuple[int, list[str]]] = weakref.WeakKeyDictionary()
"""How many traces a function had, and its inputs by then."""


def inputs_of(function: Any) -> list[str]:
    """Those that a function was traced for, also in earlier attempts, in their order.

    Each is a StructuredValue in base64. Empty where inputs have no such form.
    """
    if not generalizes(function):
        return []
    traces = function._function_cache._primary
    if function not in _KNOWN or _KNOWN[function][0] != len(traces):
        _KNOWN[function] = len(traces), _encoded(function)
    return _KNOWN[function][1]


class Numbers(Protocol):
    """What code of the script may count while it is traced."""

    def keep(self) -> None: ...

    def put_back(self) -> None: ...


def expect(function: Any, earlier: list[str], numbers: Numbers | None = None) -> None:
    """Lets a function be traced as if it had been traced for these inputs before.

    A trace that is repeated leaves `numbers` as they are.
    """
    if not earlier or not generalizes(function):
        return
    cache = function._function_cache
    types = [_decoded(function, each) for each in earlier]
    _EARLIER[function] = earlier
    _KNOWN.pop(function, None)
    cache._dispatch_dict = _Tables(types, cache._dispatch_dict, numbers)
    cache.__class__ = _Cache


def generalizes(function: Any) -> bool:
    """Whether it is traced for inputs of any size after some calls."""
    return (
        isinstance(function, polymorphic_function.Function)
        and function._reduce_retracing
        and function.input_signature is None
    )


def _encoded(function: Any) -> list[str]:
    # The first graph is not run if it has created variables.
    first = function._concrete_variable_creation_fn if function._created_variables else None
    run = [each for each in function._function_cache.values() if each is not first]
    try:
        own = [_encode(each.structured_input_signature) for each in run]
    except nested_structure_coder.NotEncodableError:
        return []
    return list(dict.fromkeys([*_EARLIER.get(function, ()), *own]))


def _encode(signature: Any) -> str:
    proto = nested_structure_coder.encode_structure(signature)
    return base64.b64encode(proto.SerializeToString(deterministic=True)).decode()


def _decoded(function: Any, text: str) -> _Inputs:
    proto = struct_pb2.StructuredValue.FromString(base64.b64decode(text))
    args, kwargs = tf.nest.map_structure(_unnamed, nested_structure_coder.decode_proto(proto))
    form = function.function_type
    bound = function_type_utils.canonicalize_function_inputs(
        args, kwargs, form, function._default_values
    )
    args, kwargs = bound.args, bound.kwargs
    return function_type_utils.make_canonicalized_monomorphic_type(args, kwargs, {}, form)[0]


def _unnamed(spec: Any) -> Any:
    return tf.TensorSpec(spec.shape, spec.dtype) if isinstance(spec, tf.TensorSpec) else spec


def _bare(kind: _Inputs) -> _Inputs:
    """Without what the graph captures, which nobody knows before it is traced."""
    return function_type.FunctionType(kind.parameters.values())


class _Dispatch(_Table):
    """Answers as if the function had been traced for `earlier` before all that it was traced for.

    Where it would be one of these that runs a call, the function is traced for exactly this one.
    """

    def __init__(
        self, earlier: list[_Inputs], traced: list[_Inputs], numbers: Numbers | None
    ) -> None:
        super().__init__()
        self._numbers = numbers
        self._all = _Table()
        for each in earlier:
            self._all.add_target(each)
        self._waiting = set(self._all.targets) - set(map(_bare, traced))
        for each in traced:
            self.add_target(each)

    def add_target(self, target: _Inputs) -> None:
        """It is traced."""
        self._all.add_target(_bare(target))
        if _bare(target) in self._waiting:
            self._waiting.remove(_bare(target))
            if self._numbers is not None:
                self._numbers.put_back()
        traced = {_bare(each): each for each in (*self.targets, target)}
        self.clear()
        for each in self._all.targets:
            if each in traced:
                super().add_target(traced[each])

    def delete(self, target: _Inputs) -> None:
        super().delete(target)
        self._all.delete(_bare(target))

    def dispatch(self, request: _Inputs) -> _Inputs | None:
        if self._waiting and self._all.dispatch(request) in self._waiting:
            return None
        return super().dispatch(request)

    def try_generalizing_function_type(self, target: _Inputs) -> _Inputs:
        """What to trace for is asked before the trace begins."""
        found = self._all.dispatch(target)
        if found is not None and self._numbers is not None:
            self._numbers.keep()
        return found or self._all.try_generalizing_function_type(target)


class _Cache(function_cache.FunctionCache):
    """TensorFlow does not ask one that is false which inputs to trace for."""

    __slots__ = ()

    def __bool__(self) -> bool:
        return True


class _Tables(dict[Any, _Dispatch]):
    """By the context of a call; each context, also a new one, begins with the earlier inputs."""

    def __init__(
        self, earlier: list[_Inputs], tables: dict[Any, Any], numbers: Numbers | None
    ) -> None:
        super().__init__()
        self._earlier = earlier
        self._numbers = numbers
        for context, table in tables.items():
            self[context] = _Dispatch(earlier, list(table.targets), numbers)

    def __contains__(self, context: object) -> bool:
        return True

    def __missing__(self, context: Any) -> _Dispatch:
        made = self[context] = _Dispatch(self._earlier, [], self._numbers)
        return made
