"""Pitstop: stop a TensorFlow run anywhere, resume it bit for bit, know why it stopped."""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = ["__version__", "request_stop"]

if TYPE_CHECKING:
    from pitstop.engine.script_stop import request_stop
else:

    def __getattr__(name: str) -> object:
        # Every Python process of a run loads this package: it must cost nothing.
        if name == "request_stop":
            return importlib.import_module("pitstop.engine.script_stop").request_stop
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
