"""What a loop of `pitstop.start` trains, by name: begun with saved weights, or written."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tensorflow as tf

from pitstop.engine.session.export_order import ExportOrder, NotExportable, carrying_out
from pitstop.engine.session.session import Session
from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.snapshots.weights_file import Format, WeightsUnusable, identify
from pitstop.loop.loop_state import LoopState
from pitstop.loop.tracked import GraphSession, Named, leaves_of, variables_of
from pitstop.tensorflow.variables import stored_values, trainables
from pitstop.tensorflow.variables.naming import value_of
from pitstop.tensorflow.variables.starting import begin_from, start
from pitstop.tensorflow.variables.variables import saved_variables

Trackable = tf.__internal__.tracking.Trackable


def of_objects(objects: Named) -> trainables.Trainables:
    held = {name: each for name, each in objects.items() if _is_held(each)}
    leaves = dict(leaves_of(held))
    models = {name: each for name, each in leaves.items() if _is_model(each)}
    # Under the names that the loop's cuts give: the last, where there are several.
    names = {id(variable): path for path, variable in variables_of(objects)}
    optimizers = [each for each in leaves.values() if trainables.optimizes(each)]
    compiled = (getattr(each, "optimizer", None) for each in models.values())
    optimizers += [each for each in compiled if each is not None]
    weights = [each for each in leaves.values() if not trainables.optimizes(each)]
    built = [each for each in optimizers if trainables.is_built(each)]
    return trainables.Trainables(held, models, _named(weights, names), _named(built, names))


def build_optimizers(objects: Named, saved: SavedState) -> None:
    """Creates the slots that optimizers had, with their variables' paths in their names."""
    leaves = dict(leaves_of(objects))
    paths = [item.path for item in saved_variables(saved)]
    trained = [
        variable
        for each in leaves.values()
        if not trainables.optimizes(each)
        for variable in getattr(each, "trainable_variables", ())
        if hasattr(variable, "path")
    ]
    for name, each in leaves.items():
        if trainables.optimizes(each) and not trainables.is_built(each):
            slots = [path for path in paths if path.startswith(f"{name}/")]
            known = [
                variable
                for variable in trained
                if any(f"/{variable.path.replace('/', '_')}_" in path for path in slots)
            ]
            if known:
                each.build(known)


def sessions_of(objects: Named) -> dict[str, Any]:
    return {name: each for name, each in objects.items() if isinstance(each, tf.compat.v1.Session)}


def _named(holders: list[Any], names: Mapping[int, str]) -> tuple[trainables.NamedVariable, ...]:
    variables = [variable for each in holders for variable in _variables_of(each)]
    return trainables.named((names[id(each)], each) for each in variables if id(each) in names)


def _variables_of(value: Any) -> list[Any]:
    if isinstance(value, tf.Variable):
        return [value]
    # Keras' `weights` are its variables without the counters of Dropout and its like.
    found = getattr(value, "weights", None) or getattr(value, "variables", None)
    listed = found if isinstance(found, list | tuple) else ()
    return [value_of(each) for each in listed]


def _is_held(value: Any) -> bool:
    leaves = [each for _, each in leaves_of({"": value})]
    unheld = (tf.random.Generator, tf.compat.v1.Session)
    return bool(leaves) and all(
        isinstance(each, Trackable) and not isinstance(each, unheld) for each in leaves
    )


def _is_model(value: Any) -> bool:
    # Keras' own models are no `tf.Module`.
    is_kind = isinstance(value, tf.Module) or hasattr(value, "save_weights")
    return is_kind and not trainables.optimizes(value)


def begin_loop(session: Session, objects: Named) -> None:
    start(session, lambda path: _begin(path, objects))


def _begin(path: str, objects: Named) -> str:
    sessions = sessions_of(objects)
    if not sessions:
        return begin_from(path, of_objects(objects)).describe(path)
    file = identify(Path(path))
    if len(sessions) > 1 or file.format is not Format.TF_CHECKPOINT:
        raise WeightsUnusable(
            f"{path} cannot be loaded into a v1 session.",
            "Start a single session from the files of a v1 Saver.",
        )
    values = stored_values.of_bundle(file.path)
    name, graph_session = next(iter(sessions.items()))
    count = GraphSession(name, graph_session).begin_with(file.path, values)
    return f"The training starts from {path}: {count} variables of the session {name!r}."


def export_loop(session: Session, state: LoopState, objects: Named, saved: SavedState) -> None:
    """Restores the objects that hold weights, writes them, and raises `ExportEnded`."""
    order = ExportOrder.of(session)
    with carrying_out(session):
        state.check(saved)
        state.build(saved)
        if sessions_of(objects):
            _export_graph(order, state, objects, saved)
        else:
            build_optimizers(objects, saved)
            found = of_objects(objects)
            if found.unbuilt:
                raise NotExportable(
                    f"{', '.join(found.unbuilt)} has no variables before the first step.",
                    "Build the model before pitstop.start, or use `--to safetensors`.",
                )
            trainables.restore_named(saved, found.variables)
            trainables.export(order, found, saved.position.step)


def _export_graph(order: ExportOrder, state: LoopState, objects: Named, saved: SavedState) -> None:
    sessions = sessions_of(objects)
    if order.format is not Format.V1_SAVER or len(sessions) > 1:
        raise NotExportable(
            f"The script trains {len(sessions)} v1 session(s), whose variables have only names.",
            "Use `--to v1_saver` for one session, or `--to safetensors`.",
        )
    name, graph_session = next(iter(sessions.items()))
    state.restore_object(name, saved)
    with graph_session.graph.as_default():
        saver = trainables.relative_saver(tf.compat.v1.global_variables())
    trainables.save_v1(saver, graph_session, order.path, saved.position.step)
