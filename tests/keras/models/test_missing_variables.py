"""A resume gives the variables of Keras 2 the names that they had before."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.keras.models import missing_variables


def _before_the_step(kind: str, saved: list[str], monkeypatch: pytest.MonkeyPatch) -> Any:
    """The optimizer of a built model after the preparation of a resume with these variables."""
    tf_keras = pytest.importorskip("tf_keras")
    found = [SimpleNamespace(path=path, index=0) for path in saved]
    monkeypatch.setattr(missing_variables, "saved_variables", lambda _: found)
    model = tf_keras.Sequential([tf_keras.layers.Dense(1, input_shape=(2,))])
    kinds = {"old": tf_keras.optimizers.legacy.SGD, "new": tf_keras.optimizers.SGD}
    model.compile(kinds[kind](), "mse")
    run = SimpleNamespace(model=model, epoch_iterator=None)
    missing_variables._build_beside_the_step(run, SimpleNamespace())  # type: ignore[arg-type]
    return model.optimizer


@pytest.mark.parametrize(
    ("saved", "is_created"),
    [
        (["learning_rate", "SGD/iter"], True),
        (["SGD/learning_rate", "SGD/iter"], False),
        (["learning_rate", "SGD/learning_rate"], False),
    ],
)
def test_numbers_of_an_old_optimizer_whose_rate_a_callback_had_read(
    saved: list[str], is_created: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    optimizer = _before_the_step("old", saved, monkeypatch)
    assert optimizer._hypers_created is is_created


def test_an_optimizer_that_the_step_builds_in_a_condition_waits_for_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    within = _before_the_step("new", ["cond/SGD/m/dense/kernel"], monkeypatch)
    assert not getattr(within, "_built", False)
    beside = _before_the_step("new", ["m/dense/kernel"], monkeypatch)
    assert beside._built
