"""Which trainings have read a dataset."""

from __future__ import annotations

import tensorflow as tf

from pitstop.keras import readers


def test_trainings_on_one_dataset_are_told_where_it_draws() -> None:
    plain = tf.data.Dataset.range(4)
    shuffled = plain.shuffle(4, seed=1)
    for data in (plain, shuffled):
        assert readers.of(data) == ()
        readers.note({"x": data, "epochs": 3}, 0)
        # It was stopped, and goes on.
        readers.note({"x": data, "epochs": 3}, 0)
        readers.note({"x": data}, 2)
    assert readers.of(plain) == readers.of(plain.shuffle(4)) == readers.of([1]) == ()
    assert readers.of(shuffled) == ("0 for 3 epochs", "2 for 1 epochs")
