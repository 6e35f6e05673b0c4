"""Every kind of object that a loop may name comes back in place."""

from __future__ import annotations

import random
from collections import deque
from pathlib import Path
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.engine.snapshots.weights_file import WeightsUnusable
from pitstop.engine.values.python_state import Encoder
from pitstop.errors import ResumeRefused
from pitstop.loop.tracked import (
    CannotTrack,
    DataIterator,
    GraphSession,
    track,
    variables_of,
)
from pitstop.tensorflow.variables.stored_values import of_bundle
from pitstop.tensorflow.variables.trainables import relative_saver, save_v1


class Counter:
    def __init__(self) -> None:
        self.count = 0

    def state_dict(self) -> dict[str, Any]:
        return {"count": self.count}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.count = state["count"]


class Reader:
    def __init__(self) -> None:
        self.at = b""

    def get_state(self) -> bytes:
        return self.at

    def set_state(self, state: bytes) -> None:
        self.at = state


def save_and_restore(value: Any, change: Any) -> None:
    """Saves a value, changes it, and brings it back."""
    tracked = track("it", value)
    encoder = Encoder("python/")
    described, held = tracked.capture(encoder)
    change(value)
    tensors = {each.spec.name: memoryview(bytes(each.read())) for each in held}
    tensors |= {name: memoryview(each.tobytes()) for name, each in encoder.arrays.items()}
    tracked.restore(described, tensors)


def test_generators() -> None:
    for make in (lambda: np.random.default_rng(3), lambda: np.random.RandomState(3)):
        generator, twin = make(), make()
        save_and_restore(generator, lambda it: it.normal(size=9))
        assert generator.normal() == twin.normal()
    stream, twin_stream = random.Random(3), random.Random(3)
    save_and_restore(stream, lambda it: it.random())
    assert stream.random() == twin_stream.random()


def test_objects_with_a_state_of_their_own() -> None:
    counter, reader = Counter(), Reader()
    counter.count, reader.at = 7, b"\x00\xff"
    save_and_restore(counter, lambda it: setattr(it, "count", 9))
    save_and_restore(reader, lambda it: setattr(it, "at", b"else"))
    assert (counter.count, reader.at) == (7, b"\x00\xff")


def test_containers_keep_their_identity() -> None:
    table: dict[str, Any] = {"best": 0.5, "rows": [1, 2]}
    history, recent, array = [1.5, float("inf")], deque([1, 2], 2), np.arange(4.0)
    save_and_restore(table, lambda it: it.clear())
    save_and_restore(history, lambda it: it.append(3.0))
    save_and_restore(recent, lambda it: it.append(3))
    save_and_restore(array, lambda it: it.fill(-1))
    assert table == {"best": 0.5, "rows": [1, 2]}
    assert history == [1.5, float("inf")]
    assert (list(recent), recent.maxlen) == ([1, 2], 2)
    assert array.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_an_iterator_goes_on_where_it_was() -> None:
    iterator = iter(tf.data.Dataset.range(20).shuffle(8, seed=1).batch(2))
    twin = iter(tf.data.Dataset.range(20).shuffle(8, seed=1).batch(2))
    assert next(iterator).numpy().tolist() == next(twin).numpy().tolist()
    save_and_restore(iterator, next)
    assert next(iterator).numpy().tolist() == next(twin).numpy().tolist()


def test_an_iterator_with_python_in_it_is_doubted() -> None:
    rows = tf.data.Dataset.from_generator(
        lambda: iter(range(3)), output_signature=tf.TensorSpec(())
    )
    tracked = track("data", iter(rows))
    assert isinstance(tracked, DataIterator)
    assert tracked.capture(Encoder("")) == (None, [])
    assert "'data'" in tracked.doubt
    assert "state_dict" in tracked.doubt


def test_an_iterator_in_an_open_order_is_doubted() -> None:
    rows = tf.data.Dataset.range(9).map(lambda row: row, num_parallel_calls=2, deterministic=False)
    assert "order" in track("data", iter(rows)).doubt


@pytest.mark.parametrize("value", [3, "adam", None, 0.5, (1, 2), object()])
def test_what_cannot_be_set_in_place_is_refused(value: Any) -> None:
    with pytest.raises(CannotTrack, match="'rate'"):
        track("rate", value)


def test_an_iterator_of_a_strategy_is_refused_with_a_way_out() -> None:
    rows = tf.data.Dataset.range(8).batch(2)
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    with pytest.raises(CannotTrack, match="position of a DistributedIterator") as refused:
        track("batches", iter(strategy.experimental_distribute_dataset(rows)))
    assert "iter(dataset)" in refused.value.remedy


def test_a_state_that_only_pickle_could_carry_is_refused_by_name() -> None:
    tracked = track("table", {"model": object()})
    with pytest.raises(CannotTrack, match=r"'table'.*\['model'\]"):
        tracked.capture(Encoder(""))


def test_variables_have_readable_paths() -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1, name="out")], name="net")
    model.compile("sgd", "mse")
    paths = [path for path, _ in variables_of({"model": model})]
    assert "model/net/out/kernel" in paths or "model/out/kernel" in paths
    assert any("optimizer" in path for path in paths)
    several = {"a": tf.Variable(1.0), "b": [tf.random.Generator.from_seed(1)]}
    assert [path for path, _ in variables_of({"all": several})] == ["all/a", "all/b/0/state"]


def test_variables_are_left_to_the_registry() -> None:
    for value in (tf.Variable(1.0), tf.Module(), keras.optimizers.SGD(), [keras.metrics.Mean()]):
        tracked = track("it", value)
        assert tracked.capture(Encoder("")) == (None, [])


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
