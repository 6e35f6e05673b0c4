"""Distribution strategies, by where their replicas run."""

from typing import Any

import tensorflow as tf

_MIRRORED = (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy)


def parts_of(variable: Any) -> tuple[Any, ...]:
    """The variable of each replica of this process; one that is not distributed itself."""
    return tuple(variable.values) if hasattr(type(variable), "values") else (variable,)


def local_values(variable: Any) -> tuple[Any, ...]:
    """Of this process: to read a variable that all workers add up, all of them must read it."""
    return tuple(each.numpy() for each in parts_of(variable))


def is_mirrored(strategy: Any) -> bool:
    """Whether this process runs the ops of its replicas; those of others may run elsewhere."""
    return isinstance(strategy, _MIRRORED)
