"""Which frameworks a process has loaded."""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf

from pitstop.errors import UnsupportedVersion

_OLDEST = (2, 20)


def versions() -> dict[str, str]:
    """Of the frameworks in this process."""
    found = {"tensorflow": tf.__version__, "numpy": np.__version__}
    packages = {name: sys.modules.get(name) for name in ("keras", "tf_keras")}
    return found | {name: each.__version__ for name, each in packages.items() if each is not None}


def check_age() -> None:
    """Makes sure that TensorFlow is not older than what exact resume is tested with.

    Raises:
        UnsupportedVersion: it is older.
    """
    if tuple(int(part) for part in tf.__version__.split(".")[:2]) < _OLDEST:
        raise UnsupportedVersion(
            f"TensorFlow {tf.__version__} is too old for exact resume.",
            "Use TensorFlow 2.20 or later, or run on without snapshots.",
        )
