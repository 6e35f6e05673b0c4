"""Which frameworks a process has loaded."""

from __future__ import annotations

import sys

import numpy as np
import tensorflow as tf


def versions() -> dict[str, str]:
    """Of the frameworks in this process."""
    found = {"tensorflow": tf.__version__, "numpy": np.__version__}
    keras = sys.modules.get("keras")
    return found if keras is None else {**found, "keras": keras.__version__}
