"""Malformed inputs end in declared errors; `make fuzz` reads a million of them."""

from __future__ import annotations

import pytest

from tests.fuzz.readers import READERS
from tests.fuzz.run import crashes


@pytest.mark.parametrize("name", READERS)
def test_no_malformed_input_crashes_its_reader(name: str) -> None:
    assert not crashes(READERS[name], 1000, seed=7)


@pytest.mark.parametrize("name", READERS)
def test_the_examples_are_good(name: str) -> None:
    for example in READERS[name].examples:
        READERS[name].read(example)
