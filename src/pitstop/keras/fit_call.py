"""A call of `fit`: its arguments, and what it gives back where nothing is trained."""

from __future__ import annotations

import inspect
from typing import Any

from pitstop.keras.packages import public


def arguments(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call by name; those that do not fit it are left to Keras."""
    return {**dict(zip(_parameters(model), args, strict=False)), **kwargs}


def defaults(model: Any) -> dict[str, Any]:
    """The arguments by name, as they are where a call leaves them out."""
    return {name: each.default for name, each in _parameters(model).items()}


def _parameters(model: Any) -> dict[str, inspect.Parameter]:
    named = dict(inspect.signature(public(model).Model.fit).parameters)
    named.pop("self")
    return named


def empty_history(model: Any) -> Any:
    history = public(model).callbacks.History()
    history.set_model(model)
    history.on_train_begin()
    model.history = history
    return history
