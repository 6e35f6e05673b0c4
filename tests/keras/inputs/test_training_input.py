"""The way in which an input is saved is the user's, or what its cost says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras.src.backend.tensorflow.trainer import TFEpochIterator

from pitstop.engine.snapshots.saved_state import SavedState
from pitstop.engine.values.python_state import Encoder
from pitstop.keras.inputs.fit_objects import FitObjects
from pitstop.keras.inputs.training_input import TrainingInput
from pitstop.link.settings import Settings
from pitstop.tensorflow.randomness import RandomStreams

ROWS = np.arange(24, dtype=np.float32).reshape(24, 1)


def shuffled() -> Any:
    return tf.data.Dataset.from_tensor_slices(ROWS).shuffle(24).batch(4)


OVERHEAD = 1e-9
"""With next to no budget any state costs too much."""


def reading(
    dataset: Any,
    mode: str = "auto",
    *,
    fresh: bool = False,
    readers: Sequence[Any] = (),
    **settings: Any,
) -> TrainingInput:
    """Its reader, which has created an iterator unless it is `fresh`."""
    keras.utils.set_random_seed(1)
    source = TFEpochIterator(
        x=dataset, distribute_strategy=tf.distribute.get_strategy(), **settings
    )
    objects = FitObjects()
    objects.begin({"x": dataset}, [])
    asked = Settings(overhead=OVERHEAD, input_mode=mode)
    reader = TrainingInput(source, RandomStreams(), objects, asked, readers=readers)
    if not fresh:
        reader.before_iterator()
        reader.create_iterator()
    return reader


def is_replayed(reader: TrainingInput) -> bool:
    described, tensors = reader.capture(Encoder(""))
    assert described["replay"] is (tensors == [])
    return bool(described["replay"])


def test_a_dear_state_is_given_up() -> None:
    reader = reading(shuffled())
    assert not is_replayed(reader)
    assert reader.level.level == "exact"
    reader.reconsider(snapshot_seconds=1e-6)
    assert is_replayed(reader)
    assert reader.level.level == "exact_by_replay"
    assert "too large to save" in reader.level.reason


def test_seeds_that_a_callback_takes_are_in_the_state_alone() -> None:
    dataset = shuffled()
    reader = reading(dataset, readers=[dataset.take(3)])
    reader.reconsider(snapshot_seconds=1e-6)
    assert not is_replayed(reader)
    assert reader.level.level == "exact"
    repeated = reading(dataset, "replay", readers=[dataset.take(3)])
    assert is_replayed(repeated)
    assert repeated.level.level == "not_exact"


@pytest.mark.parametrize("other", [shuffled, lambda: shuffled().take(3), lambda: rows().batch(4)])
def test_a_callback_s_own_dataset_takes_no_seeds(other: Any) -> None:
    reader = reading(shuffled(), "replay", readers=[other()])
    assert is_replayed(reader)
    assert reader.level.level == "exact_by_replay"


def test_a_fixed_order_has_no_seeds_to_take() -> None:
    dataset = rows().shuffle(24, reshuffle_each_iteration=False).batch(4)
    reader = reading(dataset, "replay", readers=[dataset])
    assert is_replayed(reader)
    assert reader.level.level == "exact_by_replay"


def test_parts_of_a_fixed_order_share_no_seeds() -> None:
    fixed = rows().shuffle(24, reshuffle_each_iteration=False)
    reader = reading(fixed.skip(8).shuffle(16).batch(4), "replay", readers=[fixed.take(8)])
    assert is_replayed(reader)
    assert reader.level.level == "exact_by_replay"


def rows() -> Any:
    return tf.data.Dataset.from_tensor_slices(ROWS)


def unordered() -> Any:
    options = tf.data.Options()
    options.deterministic = False
    return shuffled().map(lambda row: row * 2, num_parallel_calls=2).with_options(options)


@pytest.mark.parametrize(
    "reader",
    [
        lambda: reading(shuffled(), "native"),
        lambda: reading(unordered()),
        lambda: reading(shuffled().repeat(), steps_per_epoch=3),
        lambda: reading(ROWS, batch_size=4),
    ],
    ids=["the user wants it", "order left open", "one iterator for all epochs", "arrays"],
)
def test_a_dear_state_is_kept_where(reader: Any) -> None:
    made = reader()
    assert not is_replayed(made)
    made.reconsider(snapshot_seconds=1e-6)
    assert not is_replayed(made)


def test_the_user_may_want_a_replay() -> None:
    reader = reading(shuffled(), "replay")
    assert is_replayed(reader)
    assert "--input" in reader.level.reason


def test_what_cannot_be_repeated_is_not_promised_by_a_replay() -> None:
    noisy = shuffled().map(lambda row: row + tf.random.normal([1]))
    reader = reading(noisy, "replay")
    assert is_replayed(reader)
    assert reader.level.level == "not_exact"


_PASSES = [0]
_FORM = tf.TensorSpec((1,))


def _drawn() -> Iterator[Any]:
    _PASSES[0] += 1
    yield from ROWS[:6] * _PASSES[0]


def _same() -> Iterator[Any]:
    yield from ROWS[:6]


@pytest.mark.parametrize(
    ("dataset", "level"),
    [
        (shuffled().repeat(2), "not_exact"),
        (
            rows().repeat(2).shuffle(24).batch(4),
            "exact_by_replay",
        ),
        (shuffled().cache().shuffle(6), "not_exact"),
        (rows().cache().shuffle(24).batch(4), "exact_by_replay"),
        (tf.data.Dataset.from_generator(_drawn, output_signature=_FORM).cache(), "not_exact"),
        (tf.data.Dataset.from_generator(_same, output_signature=_FORM).cache(), "exact_by_replay"),
    ],
    ids=["repeated", "shuffled", "order", "rows", "generator that draws", "generator"],
)
def test_what_a_later_epoch_has_from_an_earlier_one_is_not_drawn_again(
    dataset: Any, level: str
) -> None:
    reader = reading(dataset, "replay")
    is_replayed(reader)
    assert reader.level.level == "exact_by_replay"
    list(dataset)
    reader.before_iterator()
    reader.create_iterator()
    assert reader.level.level == level


class Numbers(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 6

    def __getitem__(self, index: int) -> Any:
        return (np.full((4, 1), index, np.float32),)


@pytest.mark.parametrize(
    ("steps", "level"), [(None, "exact_by_replay"), (6, "exact_by_replay"), (5, "not_exact")]
)
def test_a_sequence_that_an_epoch_does_not_end_with_is_not_exact(
    steps: int | None, level: str
) -> None:
    assert reading(Numbers(), steps_per_epoch=steps).level.level == level


def test_a_thrown_away_batch_has_the_rows_that_the_model_asks_for() -> None:
    saved: Any = SimpleNamespace(state={"fit": {"input": {"replay": True}}})
    batches = reading(Numbers()).throwaway(saved, rows=7)
    (batch,) = next(batches)
    assert (batch.shape, float(tf.reduce_sum(batch))) == ((7, 1), 0.0)
    # A layer that is built with it keeps this shape.
    assert batches.element_spec[0].shape.as_list() == [None, 1]


def test_a_thrown_away_batch_has_the_form_of_the_input() -> None:
    texts = tf.data.Dataset.from_tensors((tf.constant(["a b"]), tf.ragged.constant([[1, 2]])))
    saved: Any = SimpleNamespace(state={"fit": {"input": {"replay": True}}})
    words, codes = next(reading(texts).throwaway(saved, rows=1))
    assert tf.strings.split(words).to_list() == [[b"0"]]
    assert isinstance(codes, tf.RaggedTensor)


class Reshuffled(keras.utils.PyDataset):
    def __len__(self) -> int:
        return 2

    def __getitem__(self, index: int) -> Any:
        return ROWS[index : index + 1], ROWS[index : index + 1]


@pytest.mark.parametrize(
    ("stage", "drawn", "goes_back"), [("epoch_end", 0, True), ("steps", 0, False)]
)
def test_the_end_of_an_epoch_that_is_repeated_draws_again(
    stage: str, drawn: int, goes_back: bool
) -> None:
    reader = reading(Reshuffled())
    encoder = Encoder("")
    described, _ = reader.capture(encoder)
    before = np.random.random()  # the new order, drawn behind the creation of the iterator
    state = {
        "position": {"step": 2, "fit": 0, "epoch": 0, "step_in_epoch": 2, "stage": stage},
        "random": encoder.encode(reader._streams.capture()),
        "fit": {
            "input": {**described, "drawn": drawn},
            "objects": reader._objects.capture(encoder, [], read_ahead=True)[1],
        },
    }
    arrays = {name: memoryview(each.tobytes()) for name, each in encoder.arrays.items()}
    saved = SavedState(state, arrays)
    after = np.random.random()
    reader.prepare(saved)
    reader.restore(saved, lambda _: None)
    reader.restore_streams(saved)
    assert np.random.random() == (before if goes_back else after)


class Counted:
    """Python code of a pipeline, which counts its calls."""

    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, row: Any) -> Any:
        self.calls += 1
        return row


def test_objects_of_an_input_of_unknown_length_are_saved_at_its_end() -> None:
    counted = Counted()
    rows = tf.data.Dataset.from_tensor_slices(ROWS)
    rows = rows.map(lambda row: tf.numpy_function(counted, [row], tf.float32))
    reader = reading(rows.filter(lambda _: True))
    reader.state.drawn = len(list(reader.iterator))
    reader.settle()
    _, saved = reader._objects.capture(Encoder(""), [], read_ahead=True)
    assert [each["content"] for each in saved["input"].values()] == [{"calls": len(ROWS)}]


_SCALE = [1.0]


def _scaled(value: Any) -> Any:
    return tf.numpy_function(lambda each: np.float32(each * _SCALE[0]), [value], tf.float32)


def _looks(monkeypatch: pytest.MonkeyPatch) -> list[FitObjects]:
    """Gets another item with each look at the objects of an input."""
    found: list[FitObjects] = []
    look = FitObjects.capture_input

    def counted(objects: FitObjects) -> None:
        found.append(objects)
        look(objects)

    monkeypatch.setattr(FitObjects, "capture_input", counted)
    return found


def test_an_iterator_that_nobody_reads_yet_is_looked_at_where_its_state_cannot_be_taken(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = _looks(monkeypatch)
    reader = reading(tf.data.Dataset.range(8).batch(2))
    assert not is_replayed(reader)
    reader.before_unread()
    reader.create_iterator()
    assert len(looks) == 1
    assert not is_replayed(reader)
    assert len(looks) == 1
    reader.state.replay_from_now_on("its state can no longer be taken")
    assert is_replayed(reader)
    assert len(looks) == 2


def test_objects_of_a_replayed_input_are_looked_at_before_its_iterator_is_created(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = _looks(monkeypatch)
    reader = reading(tf.data.Dataset.range(8).map(_scaled).batch(2))
    assert is_replayed(reader)
    before = len(looks)
    reader.before_unread()
    assert len(looks) == before + 1
