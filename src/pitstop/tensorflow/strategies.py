"""Distribution strategies, by where their replicas run."""

from typing import Any

import tensorflow as tf

_MIRRORED = (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy)


def local_values(variable: Any) -> tuple[Any, ...]:
    """Of this process: to read a variable that all workers add up, all of them must read it."""
    parts = variable.values if hasattr(type(variable), "values") else (variable,)
    return tuple(each.numpy() for each in parts)


def is_mirrored(strategy: Any) -> bool:
    """Whether this process runs the ops of its replicas; those of others may run elsewhere."""
    return isinstance(strategy, _MIRRORED)
