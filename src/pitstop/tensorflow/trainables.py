"""What a script trains, by the names under which other formats know it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pitstop.engine.export_order import NotExportable
from pitstop.engine.saved_state import SavedState
from pitstop.engine.variable_match import unique_names
from pitstop.tensorflow.variables import VariableRegistry, assign, check_fits, saved_variables


@dataclass(frozen=True)
class NamedVariable:
    """A `tf.Variable` and its readable, unique name."""

    name: str
    variable: Any


@dataclass(frozen=True)
class Trainables:
    """What a script trains.

    Attributes:
        objects: by name, what `tf.train.Checkpoint` can hold: models, modules,
            optimizers, variables.
        models: those of them that can be saved by themselves.
        weights: the variables of all of them but optimizers.
        optimizer: the variables of the optimizers that are built.
    """

    objects: Mapping[str, Any]
    models: Mapping[str, Any]
    weights: tuple[NamedVariable, ...]
    optimizer: tuple[NamedVariable, ...] = field(default=())

    @property
    def variables(self) -> tuple[NamedVariable, ...]:
        return (*self.weights, *self.optimizer)

    @property
    def unbuilt(self) -> list[str]:
        """Models that have no variables yet: their first step makes them."""
        return [
            name
            for name, each in self.models.items()
            if not getattr(each, "built", True) and not each.weights
        ]


def optimizes(value: Any) -> bool:
    return hasattr(value, "apply_gradients")


def is_built(optimizer: Any) -> bool:
    """Whether an optimizer has its slots, which its first step makes otherwise."""
    return bool(getattr(optimizer, "built", True))


def named(pairs: Iterable[tuple[str, Any]]) -> tuple[NamedVariable, ...]:
    """Paths and variables with unique names; a variable counts once."""
    once: dict[int, tuple[str, Any]] = {}
    for path, variable in pairs:
        once.setdefault(id(variable), (path, variable))
    names = unique_names(path for path, _ in once.values())
    variables = (variable for _, variable in once.values())
    return tuple(NamedVariable(*each) for each in zip(names, variables, strict=True))


def restore_named(
    registry: VariableRegistry, saved: SavedState, variables: Iterable[NamedVariable]
) -> None:
    """Gives variables their saved values by their names.

    Where the names tell that variables were created in the same order as when they were saved,
    every other variable of the process gets its value too.

    Raises `NotExportable` where the state has no variable of a name, `ResumeRefused` where one has
    another shape or dtype than it had.
    """
    items = saved_variables(saved)
    by_name = dict(zip(unique_names(item.path for item in items), items, strict=True))
    wanted = list(variables)
    missing = [each.name for each in wanted if each.name not in by_name]
    if missing:
        raise NotExportable(
            f"The checkpoint has no variable {missing[0]} (and {len(missing) - 1} more).",
            "Run the script as before; a model that has changed since cannot be exported.",
        )
    pairs = [(by_name[each.name], each.variable) for each in wanted]
    for item, variable in pairs:
        check_fits(item, variable)
    indices = registry.indices()
    if all(indices.get(id(variable)) == item.index for item, variable in pairs):
        registry.restore(saved)
    for item, variable in pairs:
        assign(variable, item, saved)
