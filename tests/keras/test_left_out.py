"""What a run that was rolled back does otherwise."""

from __future__ import annotations

from types import SimpleNamespace

import keras
import pytest

from pitstop.keras import left_out
from pitstop.link.settings import Settings


@pytest.mark.parametrize(("before", "after"), [(0.5, 0.125), (0.0625, 0.0625)])
def test_a_rate_that_a_callback_raises_only_later_is_not_raised_by_the_cut(
    before: float, after: float
) -> None:
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    model.compile(keras.optimizers.SGD(before))
    session = SimpleNamespace(settings=Settings(rates=((4, 0.125),)))
    run = SimpleNamespace(model=model, session=session)
    left_out.cut_rate(run, 3)
    assert float(model.optimizer.learning_rate) == before
    left_out.cut_rate(run, 4)
    assert float(model.optimizer.learning_rate) == after
