"""The order in which validation data is read, before and after a resume."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.legacy.preprocessing.image import ImageDataGenerator

from pitstop.engine.exactness import EXACT
from pitstop.engine.values.python_state import Encoder
from pitstop.keras.inputs.input_level import NOT_REPEATABLE
from pitstop.keras.inputs.input_state import FreshIterator, restore_iterator
from pitstop.keras.inputs.validation_input import VALIDATION_TENSOR, ValidationInput
from pitstop.keras.private import TFEpochIterator, validation_iterators
from pitstop.tensorflow import private

ROWS = np.arange(24, dtype=np.float32)


class Process:
    """One process that validates, as Keras does it."""

    def __init__(self, dataset: tf.data.Dataset, steps: int | None = None) -> None:
        self.dataset = dataset
        self.watch = ValidationInput(dataset)
        strategy = tf.distribute.get_strategy()
        self.source: Any = TFEpochIterator(
            distribute_strategy=strategy, x=dataset, steps_per_epoch=steps
        )

    def validate(self) -> list[list[float]]:
        self.source.reset()
        seen = []
        with self.source.catch_stop_iteration():
            for *_, iterator in self.source:
                seen.append(next(iterator).numpy().tolist())
        model: Any = SimpleNamespace(_eval_epoch_iterator=self.source, _distribute_strategy=None)
        self.watch.ended(*validation_iterators(model))
        return seen

    def save(self) -> tuple[dict[str, Any], dict[str, memoryview]]:
        described, tensors = self.watch.capture(Encoder(""))
        return described, {tensor.spec.name: tensor.read() for tensor in tensors}


def shuffled() -> tf.data.Dataset:
    keras.utils.set_random_seed(3)
    return tf.data.Dataset.from_tensor_slices(ROWS).shuffle(24).batch(5).prefetch(2)


def alone(dataset: Any) -> Any:
    """Without the prefetch that TensorFlow adds.

    It races for the next seed of a shuffle: an iterator that is given up has
    drawn it already, or not.
    """
    options = tf.data.Options()
    options.experimental_optimization.inject_prefetch = False
    return dataset.with_options(options)


def repeated() -> tf.data.Dataset:
    keras.utils.set_random_seed(3)
    return alone(tf.data.Dataset.from_tensor_slices(ROWS).shuffle(24).repeat().batch(5))


def of_unknown_size() -> tf.data.Dataset:
    return shuffled().unbatch().filter(lambda _: True).batch(5)


@pytest.mark.filterwarnings("ignore:Your input ran out of data:UserWarning")
@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize(
    ("make", "steps"), [(shuffled, None), (shuffled, 3), (repeated, 7), (of_unknown_size, None)]
)
def test_validations_after_a_resume_have_the_order_they_would_have_had(
    make: Any, steps: int | None, before: int
) -> None:
    stopped, resumed = Process(make(), steps), Process(make(), steps)
    for _ in range(before):
        stopped.validate()
    resumed.watch.restore(*stopped.save())
    again = Process(make(), steps)
    again.watch.restore(*resumed.save())  # stopped once more before it validates
    expected = [stopped.validate() for _ in range(2)]
    assert expected[0] != expected[1]
    assert [resumed.validate() for _ in range(2)] == expected
    assert [again.validate() for _ in range(2)] == expected


def test_a_callback_that_evaluates_the_same_data_is_counted_too() -> None:
    stopped, resumed = Process(shuffled()), Process(shuffled())
    stopped.validate()
    list(stopped.dataset)
    resumed.watch.restore(*stopped.save())
    assert resumed.validate() == stopped.validate()


def test_whoever_reads_the_data_next_finds_its_shuffles() -> None:
    stopped, resumed = Process(shuffled()), Process(shuffled())
    stopped.validate()
    resumed.watch.restore(*stopped.save())
    assert [batch.numpy().tolist() for batch in resumed.dataset] == [
        batch.numpy().tolist() for batch in stopped.dataset
    ]


def test_arrays_that_keras_has_copied_are_told_from_what_each_validation_reads() -> None:
    weights, arguments = np.ones(24), {"x": ROWS, "sample_weight": None}
    given, split = ValidationInput((ROWS, weights)), ValidationInput(None)
    called = {**arguments, "validation_data": (ROWS, weights)}
    assert given.copied(called) == split.copied(arguments) == []
    for each in (given, split):
        each.ended(None, 1)
    assert [id(each) for each in given.copied(called)] == [id(ROWS), id(weights)]
    assert [id(each) for each in split.copied(arguments)] == [id(ROWS)]


class Reordered(keras.utils.PyDataset):
    def __init__(self) -> None:
        super().__init__()
        self.order = np.arange(6)

    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return ROWS[self.order[index]]


def test_arrays_need_nothing() -> None:
    described, tensors = ValidationInput((ROWS, ROWS)).capture(Encoder(""))
    assert tensors == []
    assert VALIDATION_TENSOR not in described


def read_ahead() -> tf.data.Dataset:
    return tf.data.Dataset.from_tensor_slices(ROWS).shuffle(24).repeat().batch(5).prefetch(2)


@pytest.mark.parametrize(
    ("make", "planned", "expected"),
    [(read_ahead, 1, False), (read_ahead, 2, True), (repeated, 2, False), (shuffled, 2, False)],
)
def test_a_repeated_shuffle_that_is_read_ahead_is_told(
    make: Any, planned: int, expected: bool
) -> None:
    assert (ValidationInput(make(), planned).level is NOT_REPEATABLE) is expected


def test_a_python_generator_is_not_repeatable() -> None:
    assert ValidationInput(iter([(ROWS, ROWS)])).level.level == "not_exact"
    assert ValidationInput((iter([(ROWS, ROWS)]),)).level.level == "not_exact"
    assert ValidationInput((ROWS, ROWS)).level.level == "exact"


@pytest.mark.parametrize(
    "form", [lambda data: data, lambda data: (data, None), lambda data: [data]]
)
def test_a_dataset_that_is_read_for_its_form_may_be_part_of_a_tuple(form: Any) -> None:
    watch = ValidationInput(form(Reordered()))
    watch.ended(None, 1)
    assert watch.begins_by_reading


@pytest.mark.parametrize("drawn", [1, 4, 5])
def test_a_validation_that_shares_its_shuffle_with_the_training_has_its_order(drawn: int) -> None:
    def split() -> tuple[Any, Process]:
        keras.utils.set_random_seed(3)
        rows = tf.data.Dataset.from_tensor_slices(ROWS).shuffle(24)
        return rows.skip(8).batch(4), Process(rows.take(8).batch(4))

    def read(rows: Any) -> list[list[float]]:
        return [each.numpy().tolist() for each in rows]

    training, stopped = split()
    for _ in range(2):
        read(training)
        stopped.validate()
    iterator = iter(training)
    list(zip(range(drawn), iterator, strict=False))
    at_cut = private.serialize_iterator(iterator)
    saved = stopped.save()
    expected = [read(iterator), stopped.validate(), read(training), stopped.validate()]

    training, resumed = split()
    resumed.watch.restore(*saved, training)
    fresh = FreshIterator.of(iter(training))
    iterator = restore_iterator(fresh, at_cut, 3, lambda: iter(training))
    assert [read(iterator), resumed.validate(), read(training), resumed.validate()] == expected


# Up to Keras 3.11, its own image iterators are made in a way that it warns of.
@pytest.mark.filterwarnings("ignore:Your `PyDataset` class")
def test_a_reader_that_is_also_an_iterator_is_read_as_a_reader() -> None:
    rows = ImageDataGenerator().flow(np.ones((6, 4, 4, 1)), batch_size=2)
    assert ValidationInput(rows).level == EXACT
    assert ValidationInput(iter([ROWS])).level != EXACT


def jittered(*, is_ahead: bool, draws: bool) -> tf.data.Dataset:
    """Three of five batches that Python code makes, with or without a prefetch before them."""

    def jitter(rows: Any) -> Any:
        return rows + (np.random.rand() if draws else 1.0)

    data = tf.data.Dataset.from_tensor_slices(np.ones((20, 1))).batch(4)
    data = data.map(lambda rows: tf.numpy_function(jitter, [rows], tf.float64))
    return data.prefetch(2).take(3) if is_ahead else data.take(3).prefetch(2)


@pytest.mark.parametrize(
    ("is_ahead", "draws", "is_told"),
    [(True, True, True), (True, False, False), (False, True, False)],
)
def test_python_code_that_draws_further_than_the_validation_is_told(
    *, is_ahead: bool, draws: bool, is_told: bool
) -> None:
    watch = ValidationInput(jittered(is_ahead=is_ahead, draws=draws))
    watch.begin()
    list(watch.data)
    watch.ended(None, 1)
    assert ("further" in watch.level.reason) is is_told
    assert (watch.level.level == "not_exact") is is_told


def test_so_is_python_code_behind_a_number_of_validation_steps() -> None:
    for is_partly_read in (True, False):
        whole = jittered(is_ahead=True, draws=True)._input_dataset
        watch = ValidationInput(whole, is_partly_read=is_partly_read)
        watch.begin()
        list(watch.data)
        watch.ended(None, 1)
        assert (watch.level.level == "not_exact") is is_partly_read


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("is_partly_read", [True, False])
def test_a_sequence_with_a_generator_that_a_validation_reads_in_part(
    holds: bool, is_partly_read: bool
) -> None:
    class Noisy(keras.utils.PyDataset):
        def __init__(self) -> None:
            super().__init__()
            self.generator = np.random.default_rng(1) if holds else None

        def __len__(self) -> int:
            return 3

    watch = ValidationInput(Noisy(), is_partly_read=is_partly_read)
    assert (watch.level.level == "not_exact") is (holds and is_partly_read)
