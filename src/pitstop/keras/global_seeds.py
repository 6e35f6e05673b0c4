"""The variable from which `keras.random` draws without a seed.

The first draw creates it, and `set_random_seed` drops it: a callback may do both. A resume creates
it at its place among the variables, which are restored next.
"""

from typing import Any

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.tensorflow.variables.naming import path_of, value_of
from pitstop.tensorflow.variables.variables import REGISTRY, saved_variables

_NONE = -1


def number(names: Any) -> int | None:
    """Its number among the variables, None where it has none, as one of several replicas.

    `names`: the private names of the package of Keras.
    """
    seeds = names.global_seeds()
    return _NONE if seeds is None else REGISTRY.indices().get(id(value_of(seeds)))


def make(names: Any, saved: SavedState) -> None:
    paths = {item.index: item.path for item in saved_variables(saved)} | {_NONE: ""}
    before, seeds = saved.state["fit"].get("global_seeds"), names.global_seeds()
    path, now = paths.get(before), "" if seeds is None else path_of(seeds)
    if path is not None and path != now:
        REGISTRY.pass_by(before)
        names.make_global_seeds(path)
