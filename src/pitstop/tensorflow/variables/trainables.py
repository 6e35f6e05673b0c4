"""What a script trains, with the names of other formats, and exported to them."""

from collections.abc import Iterable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.session.export_order import ExportOrder, NotExportable
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.variable_match import unique_names
from pitstop.engine.snapshots.weights_file import Format
from pitstop.record import Frozen
from pitstop.tensorflow.variables.variables import REGISTRY, assign, check_fits, saved_variables

GLOBAL_STEP = "global_step"  # the name under which v1 programs keep the number of steps

_V1_NAME = "model.ckpt"


class NamedVariable(Frozen):
    name: str
    variable: Any


class Trainables(Frozen):
    # by name, what `tf.train.Checkpoint` can hold: models, modules, optimizers, variables
    objects: Mapping[str, Any]
    models: Mapping[str, Any]  # those of them that can be saved by themselves
    weights: tuple[NamedVariable, ...]  # the variables of all of them but optimizers
    # the variables of the optimizers that are built
    optimizer: tuple[NamedVariable, ...] = field(default=())

    @property
    def variables(self) -> tuple[NamedVariable, ...]:
        return (*self.weights, *self.optimizer)

    @property
    def unbuilt(self) -> list[str]:
        return [
            name
            for name, each in self.models.items()
            if not getattr(each, "built", True) and not each.weights
        ]


def export(order: ExportOrder, trainables: Trainables, step: int) -> None:
    """Writes the present values; `step` stands in names.  Raises `NotExportable`."""
    path = order.path
    match order.format:
        case Format.KERAS:
            _only_model(trainables, "save").save(str(path))
        case Format.WEIGHTS_H5:
            _only_model(trainables, "save_weights").save_weights(str(path))
        case Format.SAVED_MODEL:
            model = _only_model(trainables)
            if hasattr(model, "export"):
                model.export(str(path), verbose=False)
            else:
                tf.saved_model.save(model, str(path))
        case Format.TF_CHECKPOINT:
            _write_checkpoint(trainables, path, step)
        case Format.V1_SAVER:
            _write_v1(trainables, path, step)


def _write_checkpoint(trainables: Trainables, path: Path, step: int) -> None:
    if not trainables.objects:
        raise NotExportable("The script names no object that tf.train.Checkpoint can store.", _SAFE)
    checkpoint = tf.train.Checkpoint(**trainables.objects)
    manager = tf.train.CheckpointManager(checkpoint, str(path), max_to_keep=None)
    manager.save(checkpoint_number=step)


def _write_v1(trainables: Trainables, path: Path, step: int) -> None:
    variables = {each.name: each.variable for each in trainables.variables}
    if not variables:
        raise NotExportable("The script names no variables.", _SAFE)
    variables.setdefault(GLOBAL_STEP, tf.Variable(step, dtype=tf.int64, trainable=False))
    save_v1(relative_saver(variables), None, path, step)


def relative_saver(variables: Any) -> Any:
    """A v1 Saver whose `checkpoint` file stays true when its folder is renamed."""
    return tf.compat.v1.train.Saver(variables, save_relative_paths=True)


def save_v1(saver: Any, session: Any, folder: Path, step: int) -> None:
    """Writes `folder/model.ckpt-STEP` and its `checkpoint` file; no session for eager variables."""
    folder.mkdir()
    saver.save(session, str(folder / _V1_NAME), global_step=step, write_meta_graph=False)


_SAFE = "Every run can be exported with `--to safetensors`."


def _only_model(trainables: Trainables, method: str = "") -> Any:
    named = trainables.models.items()
    models = {name: each for name, each in named if not method or hasattr(each, method)}
    if len(models) == 1:
        return next(iter(models.values()))
    found = f"{len(models)} models ({', '.join(models)})" if models else "no such model"
    raise NotExportable(
        f"This format stores one model, but the script names {found}.",
        "Use `--to tf_checkpoint`, which stores all objects, or `--to safetensors`.",
    )


def optimizes(value: Any) -> bool:
    return hasattr(value, "apply_gradients")


def is_built(optimizer: Any) -> bool:
    return bool(getattr(optimizer, "built", True))


def named(pairs: Iterable[tuple[str, Any]]) -> tuple[NamedVariable, ...]:
    """Paths and variables with unique names; a variable counts once."""
    once: dict[int, tuple[str, Any]] = {}
    for path, variable in pairs:
        once.setdefault(id(variable), (path, variable))
    names = unique_names(path for path, _ in once.values())
    variables = (variable for _, variable in once.values())
    return tuple(NamedVariable(*each) for each in zip(names, variables, strict=True))


def restore_named(saved: SavedState, variables: Iterable[NamedVariable]) -> None:
    """Gives variables, and those created in the same order, their saved values by name.

    Raises `NotExportable` where the state lacks one, `ResumeRefused` where one has another form.
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
    indices = REGISTRY.indices()
    if all(indices.get(id(variable)) == item.index for item, variable in pairs):
        REGISTRY.restore(saved)
    for item, variable in pairs:
        assign(variable, item, saved)
