"""Gives what a script trains the values of saved weights, before its first step."""

import warnings
import zipfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.weights_file import STARTED_FROM, Format, WeightsUnusable, identify
from pitstop.events import Notice
from pitstop.record import Frozen
from pitstop.tensorflow.variables import stored_values
from pitstop.tensorflow.variables.stored_values import ObjectGraph, StoredValue
from pitstop.tensorflow.variables.trainables import NamedVariable, Trainables, is_built, optimizes

_SHOWN = 3
_REMEDY = "Give weights of this model with --from, or start without --from."
_VARIABLES = Path("variables") / "variables"
_OPTIMIZER = "optimizer"


class Begun(Frozen):
    """How many variables of models were taken over, and of optimizers: 0 if they are new."""

    weights: int
    optimizer: int

    def describe(self, path: str) -> str:
        slots = f"{self.optimizer} of the optimizer" if self.optimizer else "the optimizer is new"
        return f"The training starts from {path}: {self.weights} weights, {slots}."


def start(session: Session, load: Callable[[str], str]) -> None:
    """Loads the weights of --from, and tells what `load` says; `Refused` where they do not fit."""
    try:
        told = load(session.start_from())
    except WeightsUnusable as problem:
        session.refuse(problem, "weights_refused")
    session.report(Notice(STARTED_FROM, told))


def begin_from(path: str, trainables: Trainables) -> Begun:
    """Gives the weights the values in the file; raises `WeightsUnusable` where they do not fit."""
    file = identify(Path(path))
    if trainables.unbuilt or not trainables.weights:
        names = ", ".join(trainables.unbuilt) or "the script"
        raise WeightsUnusable(
            f"{names} has no variables before its first step, so weights cannot be loaded.",
            "Build the model (an Input layer, model.build(...), or a call on a batch).",
        )
    match file.format:
        case Format.KERAS | Format.WEIGHTS_H5:
            return _from_keras(file.path, trainables)
        case Format.SAVED_MODEL:
            return _from_saved_model(file.path, trainables)
        case Format.SAFETENSORS:
            return _from_names(file.path, stored_values.of_safetensors(file.path), trainables)
    values = stored_values.of_bundle(file.path)
    read = _from_objects if stored_values.OBJECT_GRAPH in values else _from_names
    return read(file.path, values, trainables)


def _from_keras(path: Path, trainables: Trainables) -> Begun:
    model = _only_model(trainables)
    before = _values(trainables.optimizer)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            model.load_weights(str(path))
        except (ValueError, KeyError, OSError, zipfile.BadZipFile) as problem:
            raise _unusable(path, str(problem)) from None
    skipped = any("optimizer" in str(warning.message) for warning in caught)
    same = all(map(np.array_equal, before, _values(trainables.optimizer)))
    taken = 0 if skipped or same else len(trainables.optimizer)
    return Begun(len(trainables.weights), taken)


def _from_saved_model(path: Path, trainables: Trainables) -> Begun:
    bundle = path / _VARIABLES
    values = stored_values.of_bundle(bundle)
    listed = stored_values.listed(values)
    if not listed:
        return _from_objects(bundle, values, trainables)
    variables = _only_model(trainables).variables
    wanted = [NamedVariable(each.path, each.value) for each in variables]
    if len(listed) != len(wanted):
        problem = f"it has {len(listed)} variables, but the model has {len(wanted)}"
        raise _unusable(path, problem)
    pairs = list(zip(wanted, listed, strict=True))
    _refuse_misfits(path, pairs)
    # Not the counters of Dropout and its like: the run is a new one.
    weights = {id(each.variable) for each in trainables.weights}
    _assign(pair for pair in pairs if id(pair[0].variable) in weights)
    return Begun(len(weights), 0)


# -- by name ---------------------------------------------------------------------


def _from_names(path: Path, values: Mapping[str, StoredValue], trainables: Trainables) -> Begun:
    weights = [(each, find(each.name, values)) for each in trainables.weights]
    _refuse_misfits(path, weights)
    slots = [(each, find(each.name, values)) for each in trainables.optimizer]
    slots = [] if any(misfit(*pair) for pair in slots) else slots
    _assign([*weights, *slots])
    return Begun(len(weights), len(slots))


def find(name: str, values: Mapping[str, StoredValue]) -> StoredValue | None:
    """The value of a variable: by its name, or by the only name that ends in it."""
    if name in values:
        return values[name]
    longer = [each for each in values if each.endswith(f"/{name}")]
    shorter = [each for each in values if "/" in each and name.endswith(f"/{each}")]
    found = longer + shorter
    return values[found[0]] if len(found) == 1 else None


def misfit(wanted: NamedVariable, value: StoredValue | None) -> str:
    variable = wanted.variable
    form = f"{variable.dtype.name}{variable.shape.as_list()}"
    if value is None:
        return f"{wanted.name} {form} is not in it"
    known = variable.shape.is_compatible_with(value.shape)
    fits = known and variable.dtype.name == value.dtype
    return "" if fits else f"{wanted.name} is {form}, and {value.form} in it"


_Pair = tuple[NamedVariable, StoredValue | None]


def _refuse_misfits(path: Path, pairs: Sequence[_Pair]) -> None:
    problems = [problem for pair in pairs if (problem := misfit(*pair))]
    if problems:
        more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
        raise _unusable(path, "; ".join(problems[:_SHOWN]) + more)


def _assign(pairs: Iterable[_Pair]) -> None:
    for wanted, value in pairs:
        if value is not None:
            wanted.variable.assign(value.read())


# -- by object -------------------------------------------------------------------


def _from_objects(path: Path, values: Mapping[str, StoredValue], trainables: Trainables) -> Begun:
    graph = ObjectGraph(values)
    models = {name: each for name, each in trainables.objects.items() if not optimizes(each)}
    before = _values(trainables.optimizer)
    with _without_optimizers(models):
        layout = _read_models(path, models, graph.roots)
    if _read_optimizers(path, graph, trainables, layout):
        return Begun(len(trainables.weights), len(trainables.optimizer))
    for each, value in zip(trainables.optimizer, before, strict=True):
        each.variable.assign(value)
    return Begun(len(trainables.weights), 0)


def _read_models(path: Path, models: Mapping[str, Any], stored: Sequence[str]) -> Mapping[str, Any]:
    layouts: list[Mapping[str, Any]] = [models] if models.keys() <= {*stored} else []
    if len(models) == 1:
        model = next(iter(models.values()))
        layouts += [{name: model} for name in stored if name not in models and name != _OPTIMIZER]
        layouts.append({"root": model})
    problems = []
    for layout in layouts:
        problems.append(_problem_of(path, layout))
        if not problems[-1]:
            return layout
    has = f"it has {', '.join(stored)}, but the script has {', '.join(models)}"
    raise _unusable(path, problems[0] if problems else has)


def _read_optimizers(
    path: Path, graph: ObjectGraph, trainables: Trainables, layout: Mapping[str, Any]
) -> bool:
    """Reads the optimizers under their names, or as parts of their models; whether they fit."""
    optimizers = {
        name: each
        for name, each in trainables.objects.items()
        if optimizes(each) and is_built(each)
    }
    if not optimizers or not optimizers.keys() <= {*graph.roots}:
        return bool(trainables.optimizer) and not _problem_of(path, layout)
    # Another kind of optimizer may have the same shapes, but another number of variables.
    same = all(graph.variables_of(name) == len(each.variables) for name, each in optimizers.items())
    return same and not _problem_of(path, optimizers)


@contextmanager
def _without_optimizers(models: Mapping[str, Any]) -> Iterator[None]:
    """Lets TensorFlow see the models alone: a compiled one has its optimizer as a part."""
    kept = [(each, getattr(each, "optimizer", None)) for each in models.values()]
    compiled = [(model, optimizer) for model, optimizer in kept if optimizer is not None]
    for model, _ in compiled:
        del model.optimizer
    try:
        yield
    finally:
        for model, optimizer in compiled:
            # Values that were read wait for it, and are tried on it once: they may not fit.
            with suppress(ValueError):
                model.optimizer = optimizer
            model.optimizer = optimizer


def _problem_of(path: Path, objects: Mapping[str, Any]) -> str:
    try:
        status = tf.train.Checkpoint(**objects).read(str(path))
        status.assert_existing_objects_matched()
    except (AssertionError, ValueError, tf.errors.OpError) as problem:
        return str(problem) or type(problem).__name__
    status.expect_partial()
    return ""


def _only_model(trainables: Trainables) -> Any:
    models = [each for each in trainables.models.values() if hasattr(each, "load_weights")]
    if len(models) != 1:
        raise WeightsUnusable(
            f"The file has one model, but the script names {len(models)}.",
            "Use a tf.train.Checkpoint of all objects, or safetensors.",
        )
    return models[0]


def _values(variables: Iterable[NamedVariable]) -> list[Any]:
    return [each.variable.numpy() for each in variables]


def _unusable(path: Path, problem: str) -> WeightsUnusable:
    return WeightsUnusable(f"{path} does not fit the script's model: {problem}.", _REMEDY)
