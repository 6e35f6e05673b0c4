"""The grammar of --stop-when, and what its conditions mean."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.supervisor.stops.stop_condition import parse

NAN = float("nan")


def epochs(name: str, *values: float) -> list[dict[str, float]]:
    return [{name: value, "epoch": index} for index, value in enumerate(values, start=1)]


@pytest.mark.parametrize(
    ("text", "last", "holds"),
    [
        ("val_loss < 0.02", {"val_loss": 0.019}, True),
        ("val_loss<2e-2", {"val_loss": 0.02}, False),
        ("val_loss <= .02", {"val_loss": 0.02}, True),
        ("loss > -1.5", {"loss": -1.0}, True),
        ("loss >= 1", {"loss": 0.5}, False),
        ("epoch == 3", {"epoch": 3.0}, True),
        ("top/acc.all > 0.5", {"top/acc.all": 0.6}, True),
        ("map/0.50 > 0.5", {"map/0.50": 0.6}, True),
        ("map.50>0.5 and loss/class < 1", {"map.50": 0.6, "loss/class": 0.5}, True),
        ("val_loss < 1", {"loss": 0.0}, False),
        ("loss < 1", {"loss": NAN}, False),
        ("nan(loss)", {"loss": NAN}, True),
        ("nan(loss)", {"loss": float("inf")}, True),
        ("nan(loss)", {"accuracy": 1.0}, False),
        ("not loss < 1", {"loss": 2.0}, True),
        ("a < 1 and b < 1 or c < 1", {"a": 2.0, "b": 0.0, "c": 0.0}, True),
        ("a < 1 and (b < 1 or c < 1)", {"a": 2.0, "b": 0.0, "c": 0.0}, False),
    ],
)
def test_the_last_epoch(text: str, last: dict[str, float], holds: bool) -> None:
    assert parse(text)([{"a": 9.0}, last]) is holds


@pytest.mark.parametrize(
    ("text", "values", "holds"),
    [
        ("plateau(val_loss, 2)", (3, 2, 2.5, 2), True),
        ("plateau(val_loss, 2)", (3, 2, 2.5, 1.9), False),
        ("plateau(val_loss, 2)", (3, 2), False),
        ("plateau(val_loss, 2, 0.5)", (3, 2, 1.9, 1.6), True),
        ("plateau(val_loss, 2, 0.5)", (3, 2, 1.9, 1.4), False),
        ("diverges(val_loss, 2)", (3, 1, 2, 3), True),
        ("diverges(val_loss, 2)", (3, 1, 2, 2), False),
        ("diverges(val_loss, 3)", (1, 2, 3), False),
    ],
)
def test_a_course(text: str, values: tuple[float, ...], holds: bool) -> None:
    assert parse(text)(epochs("val_loss", *values)) is holds


def test_larger_is_better_for_what_is_called_so() -> None:
    condition = parse("plateau(val_accuracy, 2)")
    assert condition(epochs("val_accuracy", 0.7, 0.8, 0.75, 0.8))
    assert not condition(epochs("val_accuracy", 0.7, 0.8, 0.75, 0.81))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("loss", "loss is not a condition such as val_loss < 0.02"),
        ("loss < ", "invalid syntax"),
        ("loss < big", "big is not a number"),
        ("0 < loss < 1", "0 < loss < 1 is not a condition"),
        ("loss < 1 accuracy > 2", "invalid syntax (character 10)"),
        ("(loss < 1", "'(' was never closed (character 1)"),
        ("loss = 1", "invalid syntax"),
        ("and < 1", "invalid syntax (character 1)"),
        ("1 < loss", "1 is not the name of a metric"),
        ("rises(loss, 2)", "use diverges, nan, plateau"),
        ("plateau(loss)", "write plateau(val_loss, 5)"),
        ("plateau(loss, 1.5)", "write plateau(val_loss, 5)"),
        ("plateau(loss, epochs=1)", "cannot contain assignment"),
        ("loss < 1" + 400 * "0", "too large"),
        ('"loss" < 1', "is not the name of a metric"),
        ("nan(loss, 1)", "write nan(loss)"),
        ("__import__('os').system('true')", "invalid syntax"),
        ("[print(loss) for loss in (1,)]", "invalid syntax"),
    ],
)
def test_what_is_no_condition_is_told_where(text: str, words: str) -> None:
    with pytest.raises(ValueError, match=re.escape(words)):
        parse(text)


@given(st.text())
def test_any_text_is_a_condition_or_a_value_error(text: str) -> None:
    try:
        condition = parse(text)
    except ValueError:
        return
    assert condition([{}]) in (True, False)
