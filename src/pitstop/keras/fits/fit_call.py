"""A call of `fit`: its arguments, and which value holds of settings that the user has changed."""

import ast
import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pitstop.engine.trainings.course import FIXED, Course
from pitstop.keras.packages import private_of, public

_LEARNING_RATE = "learning_rate"
_LAYOUT = ("batch_size", "steps_per_epoch", "validation_split")


def arguments(model: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    return {**dict(zip(_parameters(model), args, strict=False)), **kwargs}


def defaults(model: Any) -> dict[str, Any]:
    return {name: each.default for name, each in _parameters(model).items()}


def _parameters(model: Any) -> Mapping[str, inspect.Parameter]:
    return _parameters_of(public(model).Model.fit)


@functools.lru_cache(maxsize=8)
def _parameters_of(fit: Callable[..., Any]) -> Mapping[str, inspect.Parameter]:
    named = dict(inspect.signature(fit).parameters)
    named.pop("self")
    return named


def empty_history(model: Any) -> Any:
    history = public(model).callbacks.History()
    history.set_model(model)
    history.on_train_begin()
    model.history = history
    return history


class ChangedSettings:
    """Puts saved values in the place of the script's, or the other way round.

    `lose_place`: the place in the epoch cannot be found again with what the script has.
    `keep_variables`: variables that do not fit keep the script's values.
    """

    def __init__(self, model: Any, callbacks: Sequence[Any], course: Course) -> None:
        names = private_of(model)
        self._model, self._optimizer = model, model.optimizer
        self._held = {
            each.name: float(each.before)
            if each.before in ("inf", "-inf", "nan")
            else ast.literal_eval(each.before)
            for each in course.held
        }
        taken = {each.name for each in course.taken}
        is_number = _LEARNING_RATE in taken and not names.has_schedule(model)
        self._rate = names.learning_rate(model) if is_number else None
        self._of_callbacks = [
            (callback, name, vars(callback)[name])
            for callback in callbacks
            for name in list(vars(callback))
            if f"{type(callback).__name__}.{name}" in taken
        ]
        self.lose_place = not taken.isdisjoint(_LAYOUT)
        self.keep_variables = not taken.isdisjoint(FIXED)

    def hold(self) -> None:
        for name, value in self._held.items():
            if name != _LEARNING_RATE and name in vars(self._optimizer):
                setattr(self._optimizer, name, value)

    @property
    def arguments(self) -> dict[str, Any]:
        """The saved values of arguments of `fit` that the script has changed."""
        return {name: self._held[name] for name in self._held.keys() & defaults(self._model)}

    def take(self) -> None:
        if self._rate is not None:
            self._optimizer.learning_rate = self._rate
        for callback, name, value in self._of_callbacks:
            vars(callback)[name] = value
