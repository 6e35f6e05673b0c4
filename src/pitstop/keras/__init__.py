"""Keras under Pitstop: the hook points, a `fit` as it runs, its cuts and its continuation."""

import importlib
from typing import TYPE_CHECKING

__all__ = ["Callback"]

if TYPE_CHECKING:
    from pitstop.keras.callback import Callback
else:

    def __getattr__(name: str) -> object:
        # The modules of this package import it, before Keras is there.
        if name == "Callback":
            return importlib.import_module("pitstop.keras.callback").Callback
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
