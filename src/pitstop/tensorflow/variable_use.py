"""When the script reads and changes variables.  Private names, see `private.check`."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.distribute import cross_device_ops
from tensorflow.python.ops import resource_variable_ops, stateful_random_ops

from pitstop.engine.fence import observing
from pitstop.engine.hooking import Around, Original, hook

_WRITES = ("assign", "assign_add", "assign_sub")
_WHOLE_READ = "_read_variable_op"
_READS = (_WHOLE_READ, "sparse_read", "gather_nd")
_ALL_REDUCE = "_all_reduce_per_replica_values"
NEEDED: tuple[tuple[Any, str], ...] = (
    (resource_variable_ops, "BaseResourceVariable"),
    (resource_variable_ops, "_UnreadVariable"),
    (resource_variable_ops.BaseResourceVariable, _WHOLE_READ),
    (stateful_random_ops.Generator, "_skip_single_var"),
    (cross_device_ops.CollectiveAllReduce, _ALL_REDUCE),
)

_HANDLE = "_handle"
"""What the C++ code of eager ops reads a variable by (pywrap_tfe_src.cc); Python uses `handle`."""


class _ReadHandle:
    """The attribute `_handle` of variables: whoever gets it reads the variable next."""

    def __init__(self, before: Callable[[Any], None]) -> None:
        self._before = observing(spoils=True)(before)

    def __get__(self, variable: Any, kind: type | None = None) -> Any:
        if variable is None:
            return self
        if _HANDLE not in vars(variable):
            raise AttributeError(_HANDLE)
        self._before(variable)
        return vars(variable)[_HANDLE]

    def __set__(self, variable: Any, handle: Any) -> None:
        vars(variable)[_HANDLE] = handle

    def __delete__(self, variable: Any) -> None:
        del vars(variable)[_HANDLE]


def before_read_by_op(before: Callable[[Any], None]) -> None:
    """Calls `before` with a variable that an eager op reads by itself, as in `x * variable`."""
    base: Any = resource_variable_ops.BaseResourceVariable
    base.handle = property(_handle_of)
    base._handle = _ReadHandle(before)


def _handle_of(variable: Any) -> Any:
    # A variable that stands for another one, as on a parameter server, has that one's.
    own = vars(variable)
    if _HANDLE in own:
        return own[_HANDLE]
    return variable._handle


def around_read(before: Callable[[Any], None], behind: Callable[[Any, Any], None]) -> None:
    """Calls `before` a variable is read; where it was read as a whole, `behind` with its value."""
    bases = (resource_variable_ops.BaseResourceVariable, resource_variable_ops._UnreadVariable)
    for base in bases:
        for name in _READS:
            if name in vars(base):
                told = behind if name == _WHOLE_READ else lambda *_: None
                hook(base, name, _read(before, told))

    def skip(original: Original, generator: Any, variable: Any, delta: Any) -> Any:
        before(variable)
        return original(generator, variable, delta)

    # Draws of a `tf.random.Generator` read its state in their kernel.
    hook(stateful_random_ops.Generator, "_skip_single_var", skip)


def before_reduction(before: Callable[[Any], None]) -> None:
    """Calls `before` with each variable that workers add up, as a metric in `result()`.

    TensorFlow reads them in a thread of its own.
    """
    before = observing(spoils=True)(before)

    def reduce(original: Original, reducer: Any, operation: Any, each: Any, options: Any) -> Any:
        for value in (value for of_replicas in each for value in of_replicas.values):
            if isinstance(value, resource_variable_ops.BaseResourceVariable):
                before(value)
        return original(reducer, operation, each, options)

    hook(cross_device_ops.CollectiveAllReduce, _ALL_REDUCE, reduce)


def after_write(notify: Callable[[Any], None]) -> None:
    # TensorFlow replaces some of them in the subclass.
    for kind in (
        resource_variable_ops.BaseResourceVariable,
        resource_variable_ops.ResourceVariable,
    ):
        for name in _WRITES:
            if name in vars(kind):
                hook(kind, name, _told_after(notify))


def after_gradient(notify: Callable[[], None]) -> None:
    hook(tf.GradientTape, "gradient", _told_after(lambda _: notify()))


def _told_after(notify: Callable[[Any], None]) -> Around:
    def call(original: Original, owner: Any, /, *args: Any, **kwargs: Any) -> Any:
        result = original(owner, *args, **kwargs)
        notify(owner)
        return result

    return call


def _read(before: Callable[[Any], None], behind: Callable[[Any, Any], None]) -> Around:
    before, behind = observing(spoils=True)(before), observing(spoils=True)(behind)

    def read(original: Original, variable: Any, /, *args: Any, **kwargs: Any) -> Any:
        before(variable)
        value = original(variable, *args, **kwargs)
        behind(variable, value)
        return value

    return read
