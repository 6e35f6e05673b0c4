"""Writes the objects of `pitstop.start` at their saved state, in the place of the loop."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from pitstop.engine.export_order import ExportOrder, NotExportable, carrying_out
from pitstop.engine.saved_state import SavedState
from pitstop.engine.session import Session
from pitstop.engine.weights_file import Format
from pitstop.loop.loop_state import LoopState
from pitstop.loop.trainables import build_optimizers, of_objects, sessions_of
from pitstop.tensorflow.exporting import export, relative_saver, save_v1
from pitstop.tensorflow.trainables import Trainables, restore_named
from pitstop.tensorflow.variables import REGISTRY


def export_loop(
    session: Session, state: LoopState, objects: Mapping[str, Any], saved: SavedState
) -> None:
    """Restores the objects that hold weights, writes them, and raises `ExportEnded`."""
    order = ExportOrder.of(session)
    with carrying_out(session):
        state.check(saved)
        state.build(saved)
        if order is not None and sessions_of(objects):
            _export_graph(order, state, objects, saved)
        elif order is not None:
            build_optimizers(objects, saved)
            trainables = of_objects(objects)
            _refuse_unbuilt(trainables)
            restore_named(REGISTRY, saved, trainables.variables)
            export(order, trainables, saved.position.step)


def _refuse_unbuilt(trainables: Trainables) -> None:
    if trainables.unbuilt:
        raise NotExportable(
            f"{', '.join(trainables.unbuilt)} has no variables before its first step.",
            "Build the model before pitstop.start, or use `--to safetensors`.",
        )


def _export_graph(
    order: ExportOrder, state: LoopState, objects: Mapping[str, Any], saved: SavedState
) -> None:
    """The variables of a v1 session, by a Saver of its own graph."""
    sessions = sessions_of(objects)
    if order.format is not Format.V1_SAVER or len(sessions) > 1:
        raise NotExportable(
            f"The script trains {len(sessions)} v1 session(s), whose variables have names only.",
            "Use `--to v1_saver` for one session, or `--to safetensors`.",
        )
    name, graph_session = next(iter(sessions.items()))
    state.restore_object(name, saved)
    with graph_session.graph.as_default():
        saver = relative_saver(tf.compat.v1.global_variables())
    save_v1(saver, graph_session, order.path, saved.position.step)
