"""Batches that cannot be read, drawn from pipelines of `tf.data`."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import tensorflow as tf

from pitstop.events import BatchSkipped
from pitstop.keras.fits.fit_capture import FitPosition
from pitstop.keras.inputs.bad_records import LIST, BadRecords
from pitstop.keras.inputs.input_state import goes_on_behind_an_error

_BAD = -1


def _pipeline(values: list[int], batch: int = 2) -> tf.data.Dataset:
    def check(value: Any) -> Any:
        with tf.control_dependencies([tf.debugging.assert_non_negative(value, "bad record")]):
            return tf.identity(value)

    return tf.data.Dataset.from_tensor_slices(values).map(check).batch(batch)


class _Run(SimpleNamespace):
    """What of a `FitRun` is needed here."""

    def __init__(self, folder: Path) -> None:
        self.told: list[BatchSkipped] = []
        self.doubts: list[str] = []
        session = SimpleNamespace(attempt_dir=folder, report=self.told.append)
        super().__init__(position=FitPosition(0, 0), session=session)
        self.numbers = SimpleNamespace(forget=lambda: None)
        self.doubt = self.doubts.append


def _read(run: _Run, dataset: tf.data.Dataset, stride: int = 1, *, skips: bool = True) -> list[Any]:
    """What the calls of an epoch read; None for one that is left out."""
    records = BadRecords(dataset, may_skip=skips)
    iterator = iter(dataset)
    read: list[Any] = []
    while True:
        given = records.next_call(run, iterator, run.position.next_steps(stride))
        if given is None:
            read.append(None)
        elif batches := [each.numpy().tolist() for each in given]:
            read.append(batches)
        else:
            return read
        run.position.count(stride)


def test_the_batch_of_a_bad_record_is_left_out_and_listed(tmp_path: Path) -> None:
    run = _Run(tmp_path)
    read = _read(run, _pipeline([0, 1, 2, _BAD, 4, 5]))
    assert read == [[[0, 1]], None, [[4, 5]]]
    (told,) = run.told
    assert (told.step, told.step_in_epoch) == (2, 2)
    assert "bad record" in told.found[0]
    assert "{{" not in told.found[0]
    assert (tmp_path / LIST).read_text().startswith("step 2, epoch 1, batch 2: ")
    assert len(run.doubts) == 1


def test_without_leave_the_error_is_the_scripts(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError):
        _read(_Run(tmp_path), _pipeline([0, _BAD]), skips=False)


def test_a_call_of_several_steps_is_left_out_as_one(tmp_path: Path) -> None:
    values = [0, 1, 2, 3, 4, _BAD, 6, 7, 8, 9]
    read = _read(_Run(tmp_path), _pipeline(values), stride=2)
    assert read == [[[0, 1], [2, 3]], None, [[8, 9]]]


def test_more_than_ten_and_one_in_ten_are_the_scripts_to_meet(tmp_path: Path) -> None:
    run = _Run(tmp_path)
    with pytest.raises(tf.errors.InvalidArgumentError):
        _read(run, _pipeline([_BAD] * 20, batch=1))
    assert len(run.told) == 10


def test_what_reads_has_the_form_of_the_scripts_iterator(tmp_path: Path) -> None:
    dataset = _pipeline([0, 1, 2])
    iterator = iter(dataset)
    given = BadRecords(dataset, may_skip=True).next_call(_Run(tmp_path), iterator, [1])
    assert given is not iterator
    assert given.element_spec == iterator.element_spec == tf.TensorSpec((None,), tf.int32)


def test_what_was_drawn_is_drawn_again_past_the_errors() -> None:
    dataset = _pipeline([0, _BAD, 2, 3, 4, 5], batch=1)
    iterator = iter(dataset)
    told: list[int] = []
    BadRecords(dataset, may_skip=True).skip(iterator, 2, told.append)
    assert next(iterator).numpy().tolist() == [2]
    assert told == [0, 1]
    whole = BadRecords(dataset, may_skip=False)
    with pytest.raises(tf.errors.InvalidArgumentError):
        whole.skip(iter(_pipeline([_BAD], batch=1)), 1, told.append)


def test_a_validation_counts_its_own_batches(tmp_path: Path) -> None:
    run, dataset = _Run(tmp_path), _pipeline([0, 1, 2, _BAD, 4, 5])
    run.position.count(7)
    records, iterator = BadRecords(dataset, may_skip=True, in_validation=True), iter(dataset)
    items = records.readable(run, ((first, iterator) for first in range(3)), 1)
    read = [(first, next(given).numpy().tolist()) for first, given in items]
    assert read == [(0, [0, 1]), (2, [4, 5])]
    (told,) = run.told
    assert (told.in_validation, told.step, told.step_in_epoch) == (True, 7, 2)
    assert "epoch 1, batch 2 of the validation: " in (tmp_path / LIST).read_text()


def test_a_generator_ends_with_its_exception() -> None:
    spec = tf.TensorSpec((), tf.int32)
    generated = tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=spec)
    assert not goes_on_behind_an_error(generated)
    assert goes_on_behind_an_error(_pipeline([1]))
    assert not goes_on_behind_an_error([1])
