"""When the script reads and changes variables.  Private names, see `private.check`."""

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf
from tensorflow.python.ops import resource_variable_ops, stateful_random_ops

from pitstop.engine.fence import observing

_WRITES = ("assign", "assign_add", "assign_sub")
_WHOLE_READ = "_read_variable_op"
_READS = (_WHOLE_READ, "sparse_read", "gather_nd")


def around_read(before: Callable[[Any], None], behind: Callable[[Any, Any], None]) -> None:
    """Calls `before` a variable is read; where it was read as a whole, `behind` with its value."""
    bases = (resource_variable_ops.BaseResourceVariable, resource_variable_ops._UnreadVariable)
    for base in bases:
        for name in _READS:
            if name in vars(base):
                told = behind if name == _WHOLE_READ else _nobody
                setattr(base, name, _read(getattr(base, name), before, told))
    # Draws of a `tf.random.Generator` read its state in their kernel.
    generator = stateful_random_ops.Generator
    original = generator._skip_single_var

    def skip(self: Any, variable: Any, delta: Any) -> Any:
        before(variable)
        return original(self, variable, delta)

    generator._skip_single_var = skip


def after_write(notify: Callable[[Any], None]) -> None:
    # TensorFlow replaces some of them in the subclass.
    for kind in (
        resource_variable_ops.BaseResourceVariable,
        resource_variable_ops.ResourceVariable,
    ):
        for name in _WRITES:
            if name in vars(kind):
                setattr(kind, name, _told_after(vars(kind)[name], notify))


def after_gradient(notify: Callable[[], None]) -> None:
    tf.GradientTape.gradient = _told_after(tf.GradientTape.gradient, lambda _: notify())


def _told_after(original: Callable[..., Any], notify: Callable[[Any], None]) -> Callable[..., Any]:
    @functools.wraps(original)
    def write(self: Any, *args: Any, **kwargs: Any) -> Any:
        result = original(self, *args, **kwargs)
        notify(self)
        return result

    return write


def _read(
    original: Callable[..., Any],
    before: Callable[[Any], None],
    behind: Callable[[Any, Any], None],
) -> Callable[..., Any]:
    before, behind = observing(spoils=True)(before), observing(spoils=True)(behind)

    @functools.wraps(original)
    def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        before(self)
        value = original(self, *args, **kwargs)
        behind(self, value)
        return value

    return read


def _nobody(_variable: Any, _value: Any) -> None:
    """What is read in part tells nothing of the whole."""
