"""Which trainings have read a dataset."""

from __future__ import annotations

import tensorflow as tf

from pitstop.keras.fits.recognition import note_reader, readers_of


def test_trainings_on_one_dataset_are_told_where_it_draws() -> None:
    plain = tf.data.Dataset.range(4)
    shuffled = plain.shuffle(4, seed=1)
    for data in (plain, shuffled):
        assert readers_of(data) == ()
        note_reader({"x": data, "epochs": 3}, 0)
        # It was stopped, and goes on.
        note_reader({"x": data, "epochs": 3}, 0)
        note_reader({"x": data}, 2)
    assert readers_of(plain) == readers_of(plain.shuffle(4)) == readers_of([1]) == ()
    assert readers_of(shuffled) == ("0 for 3 epochs", "2 for 1 epochs")
