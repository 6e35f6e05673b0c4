"""A training input goes on with the batches that would have come next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.trainers.data_adapters.array_data_adapter import ArrayDataAdapter
from keras.src.trainers.data_adapters.generator_data_adapter import GeneratorDataAdapter
from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter
from keras.src.trainers.data_adapters.tf_dataset_adapter import TFDatasetAdapter

from pitstop.engine.exactness import Exactness
from pitstop.engine.values.python_state import Encoder
from pitstop.keras.inputs import input_state
from pitstop.keras.inputs.bad_records import BadRecords
from pitstop.keras.inputs.fit_objects import FitObjects
from pitstop.keras.inputs.input_state import (
    ITERATOR_TENSOR,
    STATES_SHARE,
    FreshIterator,
    InputMode,
    InputState,
    IteratorCheckpoint,
)
from pitstop.tensorflow import private, randomness
from pitstop.tensorflow.pipelines import pipeline
from pitstop.tensorflow.randomness import RandomStreams

BATCHES = 6
ROWS = np.arange(6 * 4 * 3, dtype=np.float32).reshape(24, 3)


@pytest.fixture(autouse=True)
def own_streams() -> Iterator[None]:
    """The process' random streams as they were, afterwards."""
    tf.random.set_seed(1)
    before = randomness.capture()
    yield
    randomness.restore(before)


def rows() -> Any:
    return tf.data.Dataset.from_tensor_slices(ROWS)


def alone(dataset: Any) -> Any:
    """Without the prefetch that TensorFlow adds.

    It races for the next seed of a shuffle: an iterator that is given up has
    drawn it already, or not.
    """
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


def noisy(row: Any) -> Any:
    return row + tf.random.normal([3])


def stateless(index: Any, row: Any) -> Any:
    return row + tf.random.stateless_normal([3], seed=tf.stack([index, 7]))


def in_python(row: Any) -> Any:
    return tf.ensure_shape(tf.py_function(lambda x: x * 2, [row], tf.float32), [3])


def in_numpy(row: Any) -> Any:
    return tf.ensure_shape(tf.numpy_function(lambda x: x * 2, [row], tf.float32), [3])


def random_generator() -> Any:
    while True:
        yield (np.random.normal(size=(4, 3)).astype("float32"),)


def drawn_by_python() -> Any:
    signature = (tf.TensorSpec((4, 3), tf.float32),)
    return tf.data.Dataset.from_generator(random_generator, output_signature=signature)


def with_generator() -> Any:
    generator = tf.random.Generator.from_seed(1)
    return rows().shuffle(24).map(lambda row: row + generator.normal([3]))


def with_layer() -> Any:
    layer = keras.layers.GaussianNoise(0.1, seed=3)
    return rows().map(lambda row: layer(row, training=True)).prefetch(3)


class Reshuffled(keras.utils.PyDataset):
    """Draws random numbers for its items, and another order in each epoch."""

    def __init__(self) -> None:
        super().__init__()
        self.order = list(range(BATCHES))
        np.random.shuffle(self.order)

    def __len__(self) -> int:
        return BATCHES

    def __getitem__(self, index: int) -> Any:
        batch = ROWS[4 * self.order[index] :][:4]
        return batch + np.random.normal(size=batch.shape).astype("float32")


Make = Callable[[], Any]

NATIVE: dict[str, Make] = {
    "arrays": lambda: ArrayDataAdapter(ROWS, batch_size=4),
    "arrays, shuffled": lambda: ArrayDataAdapter(ROWS, batch_size=4, shuffle=True),
    "repeat, batch": lambda: TFDatasetAdapter(rows().repeat().batch(4)),
    "shuffle": lambda: TFDatasetAdapter(rows().shuffle(24).batch(4)),
    "shuffle, repeat": lambda: TFDatasetAdapter(alone(rows().shuffle(24).repeat().batch(4))),
    "prefetch": lambda: TFDatasetAdapter(rows().batch(4).prefetch(3)),
    "cache": lambda: TFDatasetAdapter(rows().cache().shuffle(9).batch(4)),
    "parallel map": lambda: TFDatasetAdapter(
        rows().map(lambda row: row * 2, num_parallel_calls=2).batch(4)
    ),
    "interleave": lambda: TFDatasetAdapter(
        tf.data.Dataset.range(3)
        .interleave(lambda part: rows().shard(3, part), num_parallel_calls=2)
        .batch(4)
    ),
    "samples": lambda: TFDatasetAdapter(
        tf.data.Dataset.sample_from_datasets([rows(), rows().repeat()], seed=3).batch(4)
    ),
    "random": lambda: TFDatasetAdapter(tf.data.Dataset.random(seed=4).batch(4).take(BATCHES)),
    "stateless ops": lambda: TFDatasetAdapter(rows().enumerate().map(stateless).batch(4)),
}

REPLAYED: dict[str, Make] = {
    "from_generator": lambda: TFDatasetAdapter(drawn_by_python()),
    "from_generator, shuffled": lambda: TFDatasetAdapter(drawn_by_python().unbatch().shuffle(9)),
    "py_function": lambda: TFDatasetAdapter(rows().shuffle(24).map(in_python).batch(4)),
    "numpy_function": lambda: TFDatasetAdapter(rows().shuffle(24).map(in_numpy).batch(4)),
    "tf.random.Generator": lambda: TFDatasetAdapter(with_generator().batch(4)),
    "Keras layer": lambda: TFDatasetAdapter(with_layer().batch(4)),
    "generator": lambda: GeneratorDataAdapter(random_generator()),
    "PyDataset": lambda: PyDatasetAdapter(Reshuffled(), shuffle=False),
}


class Input:
    """One process that reads an input."""

    def __init__(self, make: Make, mode: InputMode = InputMode.AUTO) -> None:
        keras.utils.set_random_seed(5)
        self.adapter = make()
        self.dataset = self.adapter.get_tf_dataset()
        self.state = InputState.of(self.adapter, mode, self.dataset)
        self.streams = RandomStreams()
        self.told: list[int] = []
        self.rest: list[list[Any]] = []
        self.objects = FitObjects()
        self.objects.begin({"x": getattr(self.adapter, "py_dataset", None)}, [])

    def create(self) -> None:
        self.state.creating(self.streams.capture())
        self.objects.capture_input()
        self.iterator = iter(self.dataset)
        self.state.created_one()

    def draw(self, count: int) -> list[list[Any]]:
        batches = [next(self.iterator) for _ in range(count)]
        self.state.drawn += count
        return [tf.nest.map_structure(lambda x: x.numpy().tolist(), batch) for batch in batches]

    def leave(self) -> None:
        """Ends the reading ahead, which may draw from the process' random streams."""
        del self.iterator

    def save(self) -> tuple[dict[str, Any], dict[str, memoryview]]:
        encoder = Encoder("")
        state, tensors = self.state.capture(self.iterator, encoder)
        read_ahead = self.state.by_replay
        _, state["objects"] = self.objects.capture(encoder, [], read_ahead=read_ahead)
        arrays = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
        held = {tensor.spec.name: tensor.read() for tensor in tensors}
        return json.loads(json.dumps(state)), {**arrays, **held}

    def drop_anchor(self) -> None:
        """From now on snapshots refer to the iterator's present state."""
        self.save()
        assert self.state.anchor is not None
        self.state.anchor = replace(self.state.anchor, cost_seconds=1e9)

    def restore(self, saved: dict[str, Any], arrays: dict[str, memoryview]) -> None:
        if saved["replay"]:
            input_state.prepare_replay(saved, arrays, self.adapter, self.dataset, self.streams)
            self.objects.restore_input(saved["objects"], arrays)
        self.create()
        if saved["replay"]:
            self.skip(saved["drawn"])
        else:
            fresh = FreshIterator.of(self.iterator)
            input_state.begin_late_shuffles(
                self.dataset,
                saved["readings"],
                is_begun=saved["drawn"] > saved["redrawn"],
                is_past_first_part=saved["drawn"] > saved["redrawn"]
                and not private.is_in_first_part(bytes(arrays[ITERATOR_TENSOR])),
            )
            self.iterator = input_state.restore_iterator(
                fresh,
                bytes(arrays[ITERATOR_TENSOR]),
                saved["created"],
                lambda: iter(self.dataset),
                keeps_order=pipeline.keeps_an_order(self.dataset),
            )
            self.skip(saved["redrawn"])
        self.state.adopt(saved, arrays)

    def skip(self, batches: int) -> None:
        BadRecords(self.dataset, may_skip=False).skip(self.iterator, batches, self.told.append)


@pytest.mark.parametrize(("epochs_before", "drawn"), [(0, 2), (2, 3), (0, 0), (1, 0)])
@pytest.mark.parametrize("name", [*NATIVE, *REPLAYED])
def test_the_next_batches_are_those_that_would_have_come(
    name: str, epochs_before: int, drawn: int
) -> None:
    make = {**NATIVE, **REPLAYED}[name]
    stopped = Input(make)
    for _ in range(1 + epochs_before):
        stopped.create()
    stopped.draw(drawn)
    saved, arrays = stopped.save()
    streams = randomness.capture()
    assert (saved["drawn"], saved["created"]) == (drawn, 1 + epochs_before)
    expected = stopped.draw(3)
    stopped.leave()
    resumed = Input(make)
    resumed.restore(saved, arrays)
    if not saved["replay"]:
        randomness.restore(streams)
    assert resumed.draw(3) == expected
    assert resumed.state.drawn == stopped.state.drawn == drawn + 3
    assert resumed.state.level == stopped.state.level


@pytest.mark.parametrize(("created", "drawn"), [(1, 2), (3, 4), (2, 0)])
@pytest.mark.parametrize("name", NATIVE)
def test_a_replay_of_a_native_input_gives_the_same_batches(
    name: str, created: int, drawn: int
) -> None:
    stopped = Input(NATIVE[name], InputMode.REPLAY)
    for _ in range(created):
        stopped.create()
    stopped.draw(drawn)
    saved, arrays = stopped.save()
    assert saved["replay"]
    resumed = Input(NATIVE[name], InputMode.REPLAY)
    resumed.restore(saved, arrays)
    assert resumed.draw(2) == stopped.draw(2)
    for reader in (stopped, resumed):
        reader.create()
    assert resumed.draw(BATCHES) == stopped.draw(BATCHES)


CACHED: dict[str, tuple[str, Make]] = {
    "cache": ("exact", lambda: TFDatasetAdapter(rows().cache().batch(4))),
    "cache, shuffle": ("exact", lambda: TFDatasetAdapter(rows().cache().shuffle(24).batch(4))),
    "shuffle, cache, shuffle": (
        "exact",
        lambda: TFDatasetAdapter(rows().shuffle(24).cache().shuffle(9).batch(4)),
    ),
    # Not behind the end of an epoch.
    "shuffle, cache": ("not_exact", lambda: TFDatasetAdapter(rows().shuffle(24).cache().batch(4))),
    "same order, cache": (
        "not_exact",
        lambda: TFDatasetAdapter(
            rows().shuffle(24, seed=1, reshuffle_each_iteration=False).cache().batch(4)
        ),
    ),
}


@pytest.mark.parametrize("name", CACHED)
def test_a_cache_that_was_filled_goes_on(name: str) -> None:
    level, make = CACHED[name]
    stopped, resumed = Input(make), Input(make)
    for _ in range(2):
        stopped.create()
        stopped.draw(BATCHES)
        assert next(stopped.iterator, None) is None
    stopped.create()
    stopped.draw(2)
    resumed.restore(*stopped.save())
    assert stopped.state.level.level == level
    assert resumed.draw(BATCHES - 2) == stopped.draw(BATCHES - 2)
    for reader in (stopped, resumed):
        assert next(reader.iterator, None) is None
        reader.create()
    assert resumed.draw(BATCHES) == stopped.draw(BATCHES)


@pytest.mark.parametrize("created", [1, 3])
@pytest.mark.parametrize("name", [name for name in NATIVE if "repeat" not in name])
def test_later_epochs_are_those_that_would_have_come(name: str, created: int) -> None:
    make = NATIVE[name]
    for drawn in (0, 1, BATCHES - 1, BATCHES):
        stopped, resumed = Input(make), Input(make)
        for _ in range(created):
            stopped.create()
        stopped.draw(drawn)
        resumed.restore(*stopped.save())
        for reader in (stopped, resumed):
            reader.create()
        assert resumed.draw(BATCHES) == stopped.draw(BATCHES), drawn


@pytest.mark.parametrize("created", [1, 3])
@pytest.mark.parametrize("name", NATIVE)
def test_batches_behind_an_anchor_are_drawn_again(name: str, created: int) -> None:
    for anchored, drawn in ((0, 1), (0, BATCHES), (1, 4), (BATCHES - 1, BATCHES)):
        stopped, resumed = Input(NATIVE[name]), Input(NATIVE[name])
        for _ in range(created):
            stopped.create()
        stopped.draw(anchored)
        stopped.drop_anchor()
        stopped.draw(drawn - anchored)
        saved, arrays = stopped.save()
        is_lasting = anchored > 0 or not stopped.state.of_arrays
        assert saved["redrawn"] == (drawn - anchored if is_lasting else 0)
        resumed.restore(saved, arrays)
        assert resumed.draw(BATCHES - drawn) == stopped.draw(BATCHES - drawn)
        for reader in (stopped, resumed):
            reader.create()
        assert resumed.draw(BATCHES) == stopped.draw(BATCHES), (anchored, drawn)


def test_another_iterator_has_an_anchor_of_its_own() -> None:
    stopped = Input(NATIVE["shuffle"])
    stopped.create()
    stopped.draw(1)
    stopped.drop_anchor()
    stopped.create()
    stopped.draw(2)
    assert stopped.save()[0]["redrawn"] == 0


def test_an_order_that_is_left_open_is_never_drawn_again() -> None:
    stopped = Input(
        lambda: TFDatasetAdapter(
            rows().map(lambda x: x, num_parallel_calls=2, deterministic=False).batch(4)
        )
    )
    stopped.create()
    stopped.drop_anchor()
    stopped.draw(1)
    assert stopped.save()[0]["redrawn"] == 0


def test_a_replay_tells_how_far_it_is() -> None:
    stopped = Input(REPLAYED["generator"])
    stopped.create()
    stopped.draw(3)
    resumed = Input(REPLAYED["generator"])
    resumed.restore(*stopped.save())
    assert resumed.told == [0, 1, 2]


def test_an_iterator_of_another_kind_is_replayed() -> None:
    # A distributed iterator has no state of its own to give.
    state = InputState(native=True)
    described, tensors = state.capture(iter([1, 2]), Encoder(""))
    assert (described["replay"], tensors) == (True, [])
    assert state.level.level == "exact_by_replay"


@pytest.mark.parametrize(
    ("dataset", "level"),
    [
        (tf.data.Dataset.range(8).batch(2), "exact_by_replay"),
        (tf.data.Dataset.from_tensor_slices(ROWS).map(noisy).batch(4), "not_exact"),
    ],
)
def test_what_a_strategy_deals_out_is_as_exact_as_its_pipeline(dataset: Any, level: str) -> None:
    strategy = tf.distribute.MirroredStrategy(["CPU:0"])
    dealt_out = strategy.experimental_distribute_dataset(dataset)
    assert pipeline.of_one_device(dealt_out) is dataset
    assert pipeline.of_one_device(dataset) is dataset
    assert pipeline.is_repeatable(dealt_out)
    state = InputState.of(TFDatasetAdapter(dataset), dataset=pipeline.of_one_device(dealt_out))
    state.capture(iter(dealt_out), Encoder(""))
    assert state.level.level == level


@pytest.mark.parametrize("name", NATIVE)
def test_native_inputs_are_exact(name: str) -> None:
    reader = Input(NATIVE[name])
    reader.create()
    reader.draw(1)
    assert not reader.save()[0]["replay"]
    assert reader.state.level == Exactness("exact")


@pytest.mark.parametrize("name", REPLAYED)
def test_inputs_in_python_are_exact_by_replay(name: str) -> None:
    reader = Input(REPLAYED[name])
    reader.create()
    reader.draw(1)
    assert reader.save()[0]["replay"]
    assert reader.state.level.level == "exact_by_replay"
    kind = "variables" if name in ("tf.random.Generator", "Keras layer") else "Python"
    assert kind in reader.state.level.reason


def test_what_a_pipeline_draws_from_is_its_own_after_a_replay() -> None:
    stopped = Input(REPLAYED["Keras layer"])
    stopped.create()
    assert stopped.state.moved_variables() == []
    stopped.draw(2)
    saved, arrays = stopped.save()
    resumed = Input(REPLAYED["Keras layer"])
    resumed.restore(saved, arrays)
    assert len(resumed.state.moved_variables()) == 1


def test_the_vocabulary_of_a_layer_of_keras_2_is_no_variable() -> None:
    look = pytest.importorskip("tf_keras").layers.TextVectorization()
    look.adapt(["one two"])
    lines = tf.data.Dataset.from_tensor_slices(["one", "two"])
    dataset = lines.map(lambda line: look(tf.expand_dims(line, -1)))
    state = InputState(native=True, dataset=dataset, data=dataset)
    state.creating({})
    assert all(hasattr(each, "shape") for each in state.variables)


def test_random_numbers_that_cannot_be_repeated_are_told() -> None:
    reader = Input(lambda: TFDatasetAdapter(rows().map(noisy).batch(4)))
    reader.create()
    reader.save()
    assert reader.state.level.level == "not_exact"
    assert "enable_op_determinism" in reader.state.level.reason
    assert "stateless" in reader.state.level.reason


@pytest.mark.parametrize("drawn", [2, BATCHES, BATCHES + 1])
def test_all_parts_of_a_concatenation_go_on_with_their_own_seeds(drawn: int) -> None:
    def make() -> Any:
        parts = [rows().shuffle(24), rows().shuffle(24)]
        return TFDatasetAdapter(parts[0].concatenate(parts[1]).batch(4))

    stopped = Input(make)
    for batches in (2 * BATCHES, drawn):
        stopped.create()
        stopped.draw(batches)
        stopped.state.drawn = batches
    saved, arrays = stopped.save()
    assert not saved["replay"]
    resumed = Input(make)
    resumed.restore(saved, arrays)
    for reader in (stopped, resumed):
        reader.rest = reader.draw(2 * BATCHES - drawn)
        reader.create()
        reader.rest += reader.draw(2 * BATCHES)
    assert resumed.rest == stopped.rest


LATE: dict[str, tuple[int, Callable[[], Any]]] = {
    "behind another": (BATCHES, lambda: rows().shuffle(24).shuffle(9)),
    "swallowed by another": (BATCHES, lambda: rows().shuffle(24).shuffle(99)),
    "behind two": (BATCHES, lambda: rows().shuffle(24).shuffle(9).map(lambda x: x).shuffle(6)),
    "in parts": (2 * BATCHES, lambda: rows().shuffle(24).concatenate(rows().shuffle(24))),
    "in a small part": (
        BATCHES + 1,
        lambda: rows().shuffle(9).concatenate(rows().take(4).shuffle(4)),
    ),
    "behind another in the last part": (
        2 * BATCHES,
        lambda: rows().concatenate(rows().shuffle(24)).shuffle(9),
    ),
    "in the last part": (2 * BATCHES, lambda: rows().concatenate(rows().shuffle(24))),
}


@pytest.mark.parametrize("drawn", [0, 2, BATCHES, BATCHES + 1])
@pytest.mark.parametrize("mode", [InputMode.AUTO, InputMode.REPLAY])
@pytest.mark.parametrize("name", LATE)
def test_shuffles_that_begin_later_than_their_iterator_go_on_with_their_own_seeds(
    name: str, mode: InputMode, drawn: int
) -> None:
    batches, make = LATE[name]
    drawn = min(drawn, batches)
    stopped = Input(lambda: TFDatasetAdapter(make().batch(4)), mode)
    for count in (batches, 0, drawn):
        stopped.create()
        stopped.draw(count)
    saved, arrays = stopped.save()
    assert saved["replay"] is (mode is InputMode.REPLAY)
    resumed = Input(lambda: TFDatasetAdapter(make().batch(4)), mode)
    resumed.restore(saved, arrays)
    for reader in (stopped, resumed):
        reader.rest = reader.draw(batches - drawn)
        reader.create()
        reader.rest += reader.draw(batches)
    assert resumed.rest == stopped.rest


def test_seeds_of_an_ended_shuffle_that_was_repeated_are_missed() -> None:
    reader = Input(lambda: TFDatasetAdapter(rows().shuffle(24).repeat(2).batch(4)))
    reader.create()
    reader.draw(2)
    reader.save()
    assert reader.state.level.level == "exact"
    reader.draw(2 * BATCHES - 2)
    reader.state.anchor = None
    reader.save()
    assert reader.state.level.level == "not_exact"


def from_rows() -> Any:
    spec = tf.TensorSpec(ROWS.shape[1:], ROWS.dtype)
    return tf.data.Dataset.from_generator(lambda: iter(ROWS), output_signature=spec)


def test_a_shuffle_behind_another_goes_on_with_its_own_seeds() -> None:
    """It begins when the other fills its buffer: to create an iterator alone draws nothing."""

    def make() -> Any:
        return TFDatasetAdapter(rows().shuffle(24).map(in_python).shuffle(9).batch(4))

    stopped = Input(make)
    for drawn in (BATCHES, BATCHES, 2):
        stopped.create()
        stopped.draw(drawn)
        stopped.state.drawn = drawn
    saved, arrays = stopped.save()
    assert saved["replay"]
    expected = stopped.draw(2)
    resumed = Input(make)
    resumed.restore(saved, arrays)
    assert resumed.draw(2) == expected


def ignored(dataset: Any) -> Any:
    options = tf.data.Options()
    policies = tf.data.experimental.ExternalStatePolicy
    options.experimental_external_state_policy = policies.IGNORE
    return dataset.with_options(options)


@pytest.mark.parametrize(
    ("make", "level"),
    [
        (lambda: from_rows().shuffle(999).batch(4), "exact_by_replay"),
        (lambda: rows().map(in_python).shuffle(999).batch(4), "exact_by_replay"),
        (lambda: rows().map(noisy).shuffle(999).batch(4), "not_exact"),
        (lambda: ignored(rows().map(noisy).batch(4)), "not_exact"),
    ],
)
def test_state_that_tensorflow_would_drop_without_a_word_is_known(make: Make, level: str) -> None:
    """Behind a buffer that has swallowed the rest, and where an option of the dataset says so."""
    reader = Input(lambda: TFDatasetAdapter(make()))
    reader.create()
    reader.draw(1)
    assert private.serialize_iterator(reader.iterator)
    assert reader.save()[0]["replay"]
    assert reader.state.level.level == level


def test_an_order_that_is_left_open_is_so_with_python_code_too() -> None:
    in_any_order = {"num_parallel_calls": 2, "deterministic": False}
    reader = Input(lambda: TFDatasetAdapter(rows().map(in_python, **in_any_order).batch(4)))
    reader.create()
    reader.save()
    assert reader.state.level.level == "not_exact"


def test_several_workers_are_warned_of() -> None:
    dataset = Reshuffled()
    dataset.workers = 3
    state = InputState.of(PyDatasetAdapter(dataset))
    assert "3 workers" in state.level.reason


def test_a_generator_is_replayed() -> None:
    state = InputState.of(GeneratorDataAdapter(random_generator()))
    assert state.level == Exactness(
        "exact_by_replay", "the input is Python code (GeneratorDataAdapter)"
    )
    assert state.by_replay


ANCHOR = IteratorCheckpoint(b"state", created=2, drawn=5, taken_seconds=100.0, cost_seconds=0.01)


@pytest.mark.parametrize(("age_seconds", "serves"), [(0.0, True), (3.99, True), (4.01, False)])
def test_it_serves_for_a_while(age_seconds: float, serves: bool) -> None:
    assert ANCHOR.serves(2, 100.0 + age_seconds) is serves


def test_what_is_dear_serves_longer() -> None:
    dear = replace(ANCHOR, cost_seconds=1.0)
    assert dear.serves(2, 100.0 + 0.99 / STATES_SHARE)


def test_another_iterator_needs_another() -> None:
    assert not ANCHOR.serves(3, 100.0)


@pytest.mark.parametrize(
    ("seconds", "snapshot_seconds", "overhead", "expected"),
    [
        # At 1 %, half of it for snapshots, 0.3 s can be spent once a minute.
        (0.31, 0.4, 0.01, True),
        (0.29, 0.4, 0.01, False),
        (0.31, 1.3, 0.01, False),
        (0.31, 0.4, 0.02, False),
        (1.5, 1.6, 0.02, True),
        (0.0, 0.0, 0.01, False),
    ],
)
def test_what_costs_too_much(
    seconds: float, snapshot_seconds: float, overhead: float, expected: bool
) -> None:
    dear = replace(ANCHOR, cost_seconds=seconds)
    assert dear.costs_too_much(snapshot_seconds, overhead) is expected


def test_the_user_is_told_the_cost() -> None:
    dear = replace(ANCHOR, data=bytes(123_000_000), cost_seconds=1.46)
    assert "1.5 s and 123 MB" in dear.cost_words


def augmented() -> tuple[Any, InputState]:
    """Batches that a layer of Keras changes at random, and what follows them."""
    noise = keras.layers.GaussianNoise(0.1, seed=3)

    def rows() -> Iterator[list[float]]:
        while True:
            yield np.asarray(noise(np.ones(3), training=True)).tolist()

    batches = rows()
    return batches, InputState(native=False, by_replay=True, data=batches)


def test_seeds_of_layers_that_python_code_calls_are_put_back() -> None:
    batches, state = augmented()
    next(batches)
    state.creating({})
    encoder = Encoder("")
    saved, _ = state.capture(None, encoder)
    arrays = {name: memoryview(array.tobytes()) for name, array in encoder.arrays.items()}
    expected = next(batches)
    again, resumed = augmented()
    input_state.prepare_replay(saved, arrays, None, None, RandomStreams(), again)
    resumed.adopt(saved, arrays)
    assert resumed.moved_variables() == []
    assert next(again) == expected
    assert len(resumed.moved_variables()) == 1


def test_a_layer_that_python_code_calls_may_have_no_variables() -> None:
    scale = keras.layers.Rescaling(1 / 255)

    def rows() -> Iterator[Any]:
        while True:
            yield scale(np.ones(3))

    state = InputState(native=False, by_replay=True, data=rows())
    state.creating({})
    assert state.variables == []
