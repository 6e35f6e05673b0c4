"""Counts the random ops of the steps that Keras makes, so that they go on where they were saved."""

import functools
from typing import Any

from pitstop.engine.fence import fenced
from pitstop.engine.hooking import Original, hook
from pitstop.tensorflow import counted_draws, private

_STEPS = ("train_function", "test_function", "predict_function")
METHODS = tuple((f"make_{name}", ("self", "force")) for name in _STEPS)
"""Those of a model that make a step, with their parameters."""


def watch(model_class: type) -> None:
    counted_draws.watch()
    for name, (method, _) in zip(_STEPS, METHODS, strict=True):
        hook(model_class, method, functools.partial(_make, name))


def _make(name: str, original: Original, model: Any, /, *args: Any, **kwargs: Any) -> Any:
    made = original(model, *args, **kwargs)
    with fenced(spoils=True):
        for function in private.functions_behind(getattr(model, name)):
            counted_draws.count(function)
    return made
