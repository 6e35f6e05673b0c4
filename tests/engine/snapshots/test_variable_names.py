"""Names for variables whose paths may be the same."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.snapshots.variable_match import unique_names


def test_the_second_of_a_path_is_numbered() -> None:
    assert unique_names(["a", "b", "a", "a"]) == ["a", "b", "a.2", "a.3"]


def test_a_number_that_is_a_path_itself_is_passed_over() -> None:
    assert unique_names(["a.2", "a", "a"]) == ["a.2", "a", "a.3"]


@given(st.lists(st.sampled_from(["a", "a.2", "a.2.2", "b"])))
def test_no_name_is_given_twice(paths: list[str]) -> None:
    names = unique_names(paths)
    assert len(set(names)) == len(paths)
    assert all(name.startswith(path) for name, path in zip(names, paths, strict=True))
