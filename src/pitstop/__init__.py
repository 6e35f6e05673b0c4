"""Pitstop: stop a TensorFlow run anywhere, resume it bit for bit, know why it stopped."""

import importlib
from typing import TYPE_CHECKING

__version__ = "0.1.0"
__all__ = [
    "__version__",
    "current",
    "keras",
    "load_ipython_extension",
    "request_stop",
    "start",
    "stopped",
]

if TYPE_CHECKING:
    from pitstop import keras
    from pitstop.engine.session.script_stop import request_stop, stopped
    from pitstop.loop.start import start
    from pitstop.notebook.extension import current, load_ipython_extension
else:
    _HOMES = {
        "current": "pitstop.notebook.extension",
        "load_ipython_extension": "pitstop.notebook.extension",
        "request_stop": "pitstop.engine.session.script_stop",
        "start": "pitstop.loop.start",
        "stopped": "pitstop.engine.session.script_stop",
    }

    def __getattr__(name: str) -> object:
        # Every Python process of a run loads this package: it must cost nothing.
        if name == "keras":
            return importlib.import_module("pitstop.keras")
        if name in _HOMES:
            return getattr(importlib.import_module(_HOMES[name]), name)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
