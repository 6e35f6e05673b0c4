"""Batches of a `PyDataset` that raise, and those behind them."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf

from pitstop.keras import guarded_sequences
from pitstop.keras.guarded_sequences import Unread
from pitstop.keras.inputs.bad_records import BadRecords
from pitstop.keras.private import PyDatasetAdapter
from tests.keras.inputs.test_bad_records import _Run


class Rows(keras.utils.PyDataset):
    """Batches whose numbers are their indices; some raise."""

    def __init__(self, bad: dict[int, Exception], batches: int = 6, **options: Any) -> None:
        super().__init__(**options)
        self.bad, self.batches = bad, batches

    def __len__(self) -> int:
        return self.batches

    def __getitem__(self, index: int) -> Any:
        if index in self.bad:
            raise self.bad[index]
        return (np.full((2, 3), index, "float32"),)


def _read(folder: Path, rows: Rows, *, skips: bool = True) -> tuple[_Run, list[int | None]]:
    """What an epoch reads, None for what is left out."""
    original, adapter = PyDatasetAdapter.get_tf_dataset, PyDatasetAdapter(rows)
    settings = SimpleNamespace(skips_bad_records=skips)
    training: Any = SimpleNamespace(session=SimpleNamespace(settings=settings))
    dataset = guarded_sequences.get_tf_dataset(training, original, adapter)
    run, records = _Run(folder), BadRecords(dataset, may_skip=skips)
    guarded_sequences.guard(records, adapter)
    adapter.on_epoch_begin()
    iterator = iter(dataset)
    read: list[int | None] = []
    while True:
        given = records.next_call(run, iterator, run.position.next_steps(1))
        batches = None if given is None else list(given)
        if batches == []:
            adapter.on_epoch_end()
            return run, read
        read.append(None if batches is None else int(batches[0][0][0, 0]))
        run.position.count(1)


_WORKERS: tuple[dict[str, Any], ...] = (
    {},
    {"workers": 2},
    {"workers": 2, "use_multiprocessing": True},
)


@pytest.mark.parametrize("options", _WORKERS, ids=["alone", "threads", "processes"])
def test_the_batches_behind_one_that_raises_are_read(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    bad = {2: OSError("image file is truncated"), 4: KeyError("label")}
    run, read = _read(tmp_path, Rows(bad, **options))
    assert read == [0, 1, None, 3, None, 5]
    assert [each.found for each in run.told] == [
        ["index 2: OSError: image file is truncated"],
        ["index 4: KeyError: 'label'"],
    ]


def test_the_form_is_read_from_the_first_batches_that_do_not_raise(tmp_path: Path) -> None:
    bad: dict[int, Exception] = {0: ValueError("a"), 1: ValueError("b")}
    assert _read(tmp_path, Rows(bad))[1] == [None, None, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="a"):
        _read(tmp_path, Rows(dict.fromkeys(range(6), ValueError("a"))))


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (MemoryError("no memory"), tf.errors.ResourceExhaustedError),
        (OSError(5, "Input/output error"), tf.errors.UnknownError),
        (FileNotFoundError(2, "No such file"), tf.errors.UnknownError),
    ],
)
def test_what_the_system_refuses_is_no_bad_record(
    tmp_path: Path, error: Exception, kind: type[Exception]
) -> None:
    with pytest.raises(kind):
        _read(tmp_path, Rows({3: error}))


def test_without_leave_the_adapter_stays_as_it_is(tmp_path: Path) -> None:
    with pytest.raises(tf.errors.InvalidArgumentError, match="broken"):
        _read(tmp_path, Rows({3: ValueError("broken")}), skips=False)


def test_more_than_ten_are_the_scripts_to_meet(tmp_path: Path) -> None:
    bad = dict.fromkeys(range(2, 20), ValueError("broken"))
    with pytest.raises(tf.errors.InvalidArgumentError, match="broken"):
        _read(tmp_path, Rows({**bad}, batches=30))


def test_what_a_worker_raises_needs_not_be_unpickled() -> None:
    class Odd(Exception):
        def __init__(self, one: int, two: int) -> None:
            super().__init__(f"{one} and {two}")

    passed = pickle.loads(pickle.dumps(Unread(7, Odd(1, 2))))
    assert passed.words == "index 7: Odd: 1 and 2"
    assert "1 and 2" in str(passed.error)


def test_a_generator_is_refused() -> None:
    spec = tf.TensorSpec((), tf.int32)
    generated = tf.data.Dataset.from_generator(lambda: iter([1]), output_signature=spec)
    assert BadRecords(generated, may_skip=True).is_refused
    assert not BadRecords(generated, may_skip=False).is_refused
    assert not BadRecords(tf.data.Dataset.range(1), may_skip=True).is_refused
