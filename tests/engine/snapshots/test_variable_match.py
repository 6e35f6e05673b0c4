"""Saved values find their variables by order and name, or not at all."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.snapshots.variable_match import (
    PresentVariable,
    SavedVariable,
    VariableMatch,
    match,
    reshaped,
    what_fits,
)
from pitstop.errors import ResumeRefused

Shape = tuple[int, ...]


def saved(
    *paths: str, shape: Shape = (2,), owned: bool = True, first: int = 0
) -> list[SavedVariable]:
    return [
        SavedVariable(index, path, "float32", shape, path, path, owned)
        for index, path in enumerate(paths, first)
    ]


def present(
    *paths: str, shape: Shape = (2,), owned: bool = True, first: int = 0, alive: bool = True
) -> list[PresentVariable]:
    return [
        PresentVariable(index, path, "float32", shape, path, owned, alive)
        for index, path in enumerate(paths, first)
    ]


def takers(found: VariableMatch) -> list[int]:
    return [index for _, index in found.pairs]


def test_the_same_order_and_names_are_the_same_variables() -> None:
    found = match(saved("a", "Variable", "Variable"), present("a", "Variable", "Variable"))
    assert (takers(found), found.waiting, found.reordered) == ([0, 1, 2], (), False)


def test_names_decide_where_the_order_is_another() -> None:
    found = match(saved("north/k", "south/k", "head"), present("south/k", "north/k", "head"))
    assert (takers(found), found.reordered) == ([1, 0, 2], True)


def test_what_a_model_that_is_loaded_by_now_was_compiled_with_does_not_come_back() -> None:
    """A teacher was trained in the first process, and is loaded from its file in the second."""
    before = saved("adam/rate", "total", "adam/momentum", "total", owned=False)
    before += saved("kernel", first=4)
    now = [*present("total", owned=False), *present("kernel", first=1)]
    found = match(before, now)
    assert {item.index: index for item, index in found.pairs} == {3: 0, 4: 1}
    assert [item.index for item in found.waiting] == [0, 1, 2]


def test_models_that_the_script_has_loaded_keep_what_it_has_loaded() -> None:
    """They were trained before, and have other names when they come from a file."""
    before = [*saved("sequential/kernel", "adam/m", owned=False), *saved("head", first=2)]
    now = [*present("adam/m", "kernel", owned=False), *present("head", first=2)]
    with pytest.raises(ResumeRefused):
        match(before, now)
    found = match(before, now, some=True)
    assert takers(found) == [2]
    assert [item.index for item in found.waiting] == [0, 1]


def test_variables_that_the_script_had_dropped_refuse_nothing() -> None:
    """A trial was put in front of a finished one, whose model was dropped before the third."""
    before = [replace(each, dropped=True) for each in saved("dense/kernel", owned=False)]
    before += saved("head", first=1)
    now = present("dense/kernel", shape=(3,), owned=False)
    now += [*present("dense/kernel", owned=False, first=1), *present("head", first=2)]
    found = match(before, now)
    assert takers(found) == [2]
    assert [item.index for item in found.waiting] == [0]


def test_a_checkpoint_that_is_restored_by_now_makes_its_counter_earlier() -> None:
    before = saved("Variable", "Variable", "total", "total", "save_counter", owned=False)
    now = present("Variable", "save_counter", "Variable", "total", "total", owned=False)
    found = match(before, now)
    assert (sorted(takers(found)), found.reordered) == ([0, 1, 2, 3, 4], False)
    by_saved = {item.index: index for item, index in found.pairs}
    assert by_saved == {0: 0, 1: 2, 2: 3, 3: 4, 4: 1}


def test_what_stands_for_its_shards_has_no_value_of_its_own() -> None:
    shards = ("k/part_0", "k/part_1")
    before = saved("Variable", "Variable", *shards, "bias", "save_counter", owned=False)
    stands = (*shards, "ShardedVariable", "bias")
    now = present("Variable", "Variable", "save_counter", *stands, owned=False)
    found = match(before, now)
    by_saved = {item.path: index for item, index in found.pairs}
    assert by_saved == {"Variable": 1, "k/part_0": 3, "k/part_1": 4, "bias": 6, "save_counter": 2}
    assert (found.waiting, found.reordered) == ((), False)


def test_others_than_counters_that_come_earlier_are_refused() -> None:
    before = saved("Variable", "Variable", "other", "save_counter", owned=False)
    now = present("other", "save_counter", "Variable", "Variable", owned=False)
    with pytest.raises(ResumeRefused, match="several are named Variable"):
        match(before, now)


def test_a_model_that_was_loaded_lacks_its_name_in_front() -> None:
    before = saved("m/dense/kernel", "m/head/kernel", "adam/iteration", "adam/m_dense_kernel_v")
    now = present("adam/iteration", "adam/dense_kernel_v", "dense/kernel", "head/kernel")
    assert takers(match(before, now)) == [2, 3, 0, 1]
    assert takers(match(saved("dense/kernel", "seed"), present("seed", "m/dense/kernel"))) == [1, 0]
    with pytest.raises(ResumeRefused):
        match(saved("m/k", "n/k", "a"), present("k", "a", "m/k"))


def test_what_a_loaded_model_counts_anew_is_found_where_there_is_one_of_its_kind() -> None:
    before = saved("seed_generator/state", "m/dense/kernel", "adam/iteration")
    now = present("dense/kernel", "adam/iteration", "seed_generator_1/state", first=3)
    found = match(before, now)
    assert {item.path: index for item, index in found.pairs} == {
        "seed_generator/state": 5,
        "m/dense/kernel": 3,
        "adam/iteration": 4,
    }
    shifted = saved("dense/k", "dense_1/k", "adam/iteration")
    with pytest.raises(ResumeRefused):
        match(shifted, present("adam/iteration", "dense_1/k", "dense_2/k"))
    two = saved("seed_generator/state", "seed_generator_1/state", "m/dense/kernel")
    with pytest.raises(ResumeRefused):
        match(two, present("m/dense/kernel", "seed_generator_2/state", "seed_generator_3/state"))


def test_of_several_variables_of_one_name_none_is_guessed() -> None:
    before = saved("a", "Variable", "gone", first=0)
    pairs, left = what_fits(before, present("Variable", "Variable", "a"))
    assert [(item.path, index) for item, index in pairs] == [("a", 2)]
    assert [label.partition(" ")[0] for label in left] == ["Variable", "gone"]


def test_variables_of_another_model_are_named_with_both_shapes() -> None:
    before = [*saved("a", "b"), *saved("gone", first=2)]
    now = [*present("a"), *present("b", shape=(3,), first=1), *present("c", first=2)]
    assert reshaped(before, now) == ["b float32[2] is now float32[3]", "c float32[2] is new"]


def test_two_candidates_are_refused() -> None:
    before = saved("north", "Variable", "south", "Variable")
    with pytest.raises(ResumeRefused, match="Variable"):
        match(before, present("south", "Variable", "north", "Variable"))


def test_the_same_form_under_another_name_is_refused() -> None:
    with pytest.raises(ResumeRefused, match=r"was head float32\[2\] and is now top"):
        match(saved("body", "head"), present("body", "top"))


def test_another_form_under_the_same_name_is_refused() -> None:
    with pytest.raises(ResumeRefused, match="kernel"):
        match(saved("kernel"), present("kernel", shape=(3,)))


def test_numbers_that_were_counted_on_are_no_other_names() -> None:
    before = saved(
        "sequential_3/dense_9/kernel", "sequential_3/dense_10/kernel", "sgd/dense_9_kernel"
    )
    now = present("sequential/dense/kernel", "sequential/dense_1/kernel", "sgd/dense_kernel")
    found = match(before, now)
    assert (takers(found), found.reordered) == ([0, 1, 2], False)


def test_a_shift_that_keeps_some_names_does_not_mislead() -> None:
    found = match(saved("dense_1", "dense_2", first=7), present("dense", "dense_1"))
    assert takers(found) == [0, 1]


def test_numbers_in_another_order_are_names() -> None:
    found = match(saved("block_1", "block_2"), present("block_2", "block_1"))
    assert (takers(found), found.reordered) == ([1, 0], True)


def test_a_variable_that_is_gone_here_too_needs_no_value() -> None:
    found = match(
        saved("kept", "dropped"), present("kept") + present("dropped", first=1, alive=False)
    )
    assert (takers(found), found.waiting) == ([0], ())


def test_what_is_not_there_is_waited_for() -> None:
    found = match(saved("dense", "sgd/momentum"), present("dense"))
    assert [item.path for item in found.waiting] == ["sgd/momentum"]


def test_variables_of_the_model_are_not_taken_for_left_over_ones() -> None:
    left_over = saved("sequential/dense/kernel", owned=False)
    before = [*left_over, *saved("sequential_1/dense_1/kernel", first=1)]
    found = match(before, present("sequential/dense/kernel"))
    assert [(item.index, index) for item, index in found.pairs] == [(1, 0)]
    assert list(found.waiting) == left_over


@given(st.permutations([f"layer_{number}" for number in range(6)]), st.permutations(range(6)))
def test_no_value_goes_to_a_variable_of_another_name(names: list[str], order: list[int]) -> None:
    now = present(*(names[place] for place in order))
    for item, index in match(saved(*names), now).pairs:
        assert now[index].path == item.path


def test_variables_of_the_model_that_no_saved_value_goes_to() -> None:
    found = match(saved("rate"), present("rate", "dense/kernel"))
    assert takers(found) == [0]
    assert [each.path for each in found.unsaved] == ["dense/kernel"]
    assert match(saved("rate"), present("rate")).unsaved == ()
