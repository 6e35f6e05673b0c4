"""Distribution strategies, by where their replicas run."""

from typing import Any

import tensorflow as tf

_MIRRORED = (tf.distribute.MirroredStrategy, tf.distribute.MultiWorkerMirroredStrategy)


def is_mirrored(strategy: Any) -> bool:
    """Whether this process runs the ops of its replicas; those of others may run elsewhere."""
    return isinstance(strategy, _MIRRORED)
