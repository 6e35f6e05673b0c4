"""Which values of a metric are the best."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.store.best_rule import BestRule, infer_mode, parse_best_rule

RULES = st.builds(
    BestRule,
    st.sampled_from(["val_loss", "auc", "m"]),
    st.integers(1, 4),
    st.sampled_from(["min", "max"]),
)
VALUES = st.lists(
    st.tuples(st.integers(0, 30), st.floats(allow_nan=True)), unique_by=lambda pair: pair[0]
)


@given(RULES)
def test_a_rule_is_what_its_text_says(rule: BestRule) -> None:
    assert parse_best_rule(str(rule)) == rule


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("val_loss", BestRule("val_loss", 1, "min")),
        ("val_loss:3", BestRule("val_loss", 3, "min")),
        ("val_accuracy:max:2", BestRule("val_accuracy", 2, "max")),
        ("val_accuracy:2", BestRule("val_accuracy", 2, "max")),
        ("bleu: 2 : max", BestRule("bleu", 2, "max")),
        ("loss:max", BestRule("loss", 1, "max")),
    ],
)
def test_what_a_person_writes(text: str, rule: BestRule) -> None:
    assert parse_best_rule(text) == rule


@pytest.mark.parametrize("text", ["", ":3", "loss:0", "loss:-1", "loss:3:4", "loss:up", "loss:"])
def test_what_is_no_rule(text: str) -> None:
    with pytest.raises(ValueError, match="is not a valid rule"):
        parse_best_rule(text)


@pytest.mark.parametrize("metric", ["bleu", "loss_score", "my_metric"])
def test_a_name_that_does_not_tell_must_be_helped(metric: str) -> None:
    with pytest.raises(ValueError, match=f"{metric}:max if"):
        parse_best_rule(metric)


def test_the_mode_agrees_with_the_metrics_of_keras() -> None:
    smaller = "loss val_loss decoder_loss mean_squared_error val_mae root_mean_squared_error"
    larger = "accuracy val_sparse_categorical_accuracy auc f1_score r2_score cosine_similarity"
    assert {infer_mode(name) for name in smaller.split()} == {"min"}
    assert {infer_mode(name) for name in larger.split()} == {"max"}


@given(RULES, VALUES)
def test_what_is_chosen_is_no_worse_than_what_is_not(
    rule: BestRule, values: list[tuple[int, float]]
) -> None:
    chosen = rule.choose(values)
    numbers = {key: value for key, value in values if not math.isnan(value)}
    assert len(chosen) == min(rule.count, len(numbers))
    better = min if rule.mode == "min" else max
    for key in numbers.keys() - chosen:
        assert all(better(numbers[other], numbers[key]) == numbers[other] for other in chosen)


def test_of_equal_values_the_earlier_is_the_better() -> None:
    assert BestRule("loss", 1, "min").choose([(3, 0.5), (2, 0.5), (4, 0.5)]) == {2}
    assert BestRule("auc", 2, "max").choose([(3, 0.5), (2, 0.5), (4, 0.5)]) == {2, 3}


def test_nan_is_never_the_best() -> None:
    assert BestRule("loss", 2, "min").choose([(1, math.nan), (2, math.inf)]) == {2}
