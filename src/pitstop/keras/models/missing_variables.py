"""The variables that only the first training step creates: a resume creates them before."""

from typing import Any

import tensorflow as tf

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.keras.common_private import optimizer_variables
from pitstop.keras.inputs.training_input import fixed_batch_size
from pitstop.keras.models import library_step
from pitstop.keras.models.variable_paths import VariablePaths
from pitstop.keras.packages import KERAS_2, package_of, private_of
from pitstop.tensorflow.variables.variables import REGISTRY, saved_variables


def build(run: Any, saved: SavedState) -> None:
    """Creates the variables of a `fit` that are missing, in their order.

    A real step on the iterator that is restored afterwards. An input that is replayed must not be
    touched: a made-up batch does there; a model that fails on it was traced by then.
    """
    structure = saved.state["fit"]["structure"]
    is_complete = not REGISTRY.missing(saved, run.path_of)
    if is_complete and not run.structure.begins_otherwise(structure):
        return
    # This traces the training step: its random ops are looked at here.
    run.stepping = True
    _build_beside_the_step(run, saved)
    run.structure.as_begun(structure)
    run.traced.expect(saved.state["fit"].get("inputs", {}))
    rows = fixed_batch_size(run.model)
    if run.session.settings.batch_parts == 1:
        library_step.run_once(run.model, lambda: run.input.made_up(rows))
    batches = run.input.throwaway(saved, rows)
    failed: tf.errors.OpError | None = None
    try:
        run.model.train_function(batches)
    except tf.errors.OpError as error:
        failed = error
    run.stepping = False
    # The step has given metrics to the model.
    run.path_of = VariablePaths(run.model)
    _build_optimizer(run, saved)
    if failed is not None and REGISTRY.missing(saved, run.path_of):
        raise failed


def _build_beside_the_step(run: Any, saved: SavedState) -> None:
    """An optimizer of Keras 2 that a callback has built, such as `BackupAndRestore`.

    What a step creates has the optimizer's name in front.
    """
    model = run.model
    paths = {each.path for each in saved_variables(saved)}
    rate = f"{_name_of(model.optimizer)}/learning_rate"
    if "learning_rate" in paths and rate not in paths:
        # A callback had asked an old optimizer of Keras 2 for its rate, which creates its numbers.
        getattr(model.optimizer, "learning_rate", None)
    if package_of(model) != KERAS_2 or not model.built or _built_by_step(model.optimizer, saved):
        return
    created = REGISTRY.created
    private_of(model).build_symbolically(model, run.epoch_iterator)
    if REGISTRY.created > created:
        # Variables of the callback itself may come before those of the step.
        indices = (each.index for each in saved_variables(saved))
        REGISTRY.pass_by(min((each for each in indices if each >= REGISTRY.created), default=0))


def _built_by_step(optimizer: Any, saved: SavedState) -> int:
    # A step that builds it in a condition puts that in front of its name.
    name = f"/{_name_of(optimizer)}/"
    return sum(name in f"/{each.path}" for each in saved_variables(saved))


def _name_of(optimizer: Any) -> str:
    # An old one of Keras 2 has no public name.
    return str(getattr(optimizer, "name", None) or getattr(optimizer, "_name", ""))


def _build_optimizer(run: Any, saved: SavedState) -> None:
    """Of a step that does not always call it, because it accumulates gradients."""
    optimizer = run.model.optimizer
    few = _built_by_step(optimizer, saved) > len(optimizer_variables(optimizer))
    # Another optimizer, which no `compile` knows, may have the same name.
    if few and REGISTRY.missing(saved, run.path_of):
        private_of(run.model).build_symbolically(run.model, run.epoch_iterator)
        run.path_of = VariablePaths(run.model)
