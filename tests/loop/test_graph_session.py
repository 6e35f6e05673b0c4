"""The variables of a `tf.compat.v1.Session` are saved by name and assigned in place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.python_state import Encoder
from pitstop.engine.weights_file import WeightsUnusable
from pitstop.errors import ResumeRefused
from pitstop.loop.graph_session import GraphSession
from pitstop.loop.tracked import track
from pitstop.tensorflow.exporting import relative_saver, save_v1
from pitstop.tensorflow.stored_values import of_bundle

v1 = tf.compat.v1


def session(*names: str, noisy: bool = False) -> Any:
    graph = tf.Graph()
    with graph.as_default():
        for name in names:
            v1.get_variable(name, [3], initializer=v1.random_normal_initializer(seed=1))
        if noisy:
            tf.random.normal([2])
        made = v1.Session(graph=graph)
        made.run(v1.global_variables_initializer())
    return made


def values(it: Any) -> list[Any]:
    with it.graph.as_default():
        return [value.tolist() for value in it.run(v1.global_variables())]


def saved(tracked: GraphSession) -> tuple[Any, dict[str, memoryview]]:
    encoder = Encoder("")
    described, held = tracked.capture(encoder)
    assert held == []
    return described, {n: memoryview(np.asarray(a).tobytes()) for n, a in encoder.arrays.items()}


def test_values_come_back_and_the_graph_does_not_grow() -> None:
    it = session("a", "b")
    tracked = track("session", it)
    assert isinstance(tracked, GraphSession)
    before, state = values(it), saved(tracked)
    with it.graph.as_default():
        it.run([v1.assign(each, each * 2) for each in v1.global_variables()])
    operations = len(it.graph.get_operations())
    tracked.restore(*state)
    assert values(it) == before
    assert len(it.graph.get_operations()) == operations


def test_another_graph_is_refused_by_the_names() -> None:
    state = saved(GraphSession("s", session("a", "b")))
    with pytest.raises(ResumeRefused, match="b:0, c:0"):
        GraphSession("s", session("a", "c")).restore(*state)


def test_hidden_streams_are_doubted_but_not_those_of_initializers() -> None:
    assert GraphSession("s", session("a")).doubt == ""
    assert "RandomStandardNormal" in GraphSession("s", session("a", noisy=True)).doubt


def test_it_begins_with_the_files_of_a_v1_saver(tmp_path: Path) -> None:
    it, other = session("a", "b"), session("a", "b")
    with it.graph.as_default():
        it.run([v1.assign(each, each * 2) for each in v1.global_variables()])
        save_v1(relative_saver(v1.global_variables()), it, tmp_path / "v1", 3)
    stored = of_bundle(tmp_path / "v1" / "model.ckpt-3")
    operations = len(other.graph.get_operations())
    assert GraphSession("session", other).begin_with(tmp_path, stored) == 2
    assert values(other) == values(it)
    assert len(other.graph.get_operations()) == operations


def test_a_variable_that_the_files_lack_is_named(tmp_path: Path) -> None:
    it = session("a")
    with it.graph.as_default():
        save_v1(relative_saver(v1.global_variables()), it, tmp_path / "v1", 3)
    stored = of_bundle(tmp_path / "v1" / "model.ckpt-3")
    with pytest.raises(WeightsUnusable, match=r"c is \[3\], but not in it"):
        GraphSession("session", session("a", "c")).begin_with(tmp_path, stored)
