"""A new run whose loop begins with saved weights."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pitstop.engine.session import Session
from pitstop.engine.weights_file import STARTED_FROM, Format, WeightsUnusable, identify
from pitstop.events import Notice
from pitstop.loop.graph_session import GraphSession
from pitstop.loop.trainables import of_objects, sessions_of
from pitstop.tensorflow import stored_values
from pitstop.tensorflow.starting import begin_from


def begin_loop(session: Session, objects: Mapping[str, Any]) -> None:
    """Loads the weights that the run begins with; raises `Refused` where they do not fit."""
    path = session.start_from()
    try:
        graphs = sessions_of(objects)
        told = (
            _begin_graph(path, graphs)
            if graphs
            else begin_from(path, of_objects(objects)).describe(path)
        )
    except WeightsUnusable as problem:
        session.refuse(problem, "weights_refused")
    session.report(Notice(STARTED_FROM, told))


def _begin_graph(path: str, sessions: Mapping[str, Any]) -> str:
    file = identify(Path(path))
    if len(sessions) > 1 or file.format is not Format.TF_CHECKPOINT:
        raise WeightsUnusable(
            f"{path} cannot be loaded into a v1 session.",
            "Start one session from the files of a v1 Saver.",
        )
    values = stored_values.of_bundle(file.path)
    name, graph_session = next(iter(sessions.items()))
    count = GraphSession(name, graph_session).begin_with(file.path, values)
    return f"The training starts from {path}: {count} variables of the session {name!r}."
