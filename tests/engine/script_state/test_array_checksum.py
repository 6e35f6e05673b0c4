"""Checksums of arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from pitstop.engine.script_state import array_checksum

_LARGE: dict[str, tuple[np.ndarray[Any, Any], Any]] = {
    "the last bytes": (np.zeros(2_000_003, np.uint8), -2),
    "the last element": (np.zeros(400_001, np.float32), -1),
    "a view with gaps": (np.zeros((300_000, 2), np.complex128)[:, 0], 5),
    "a reversed view": (np.zeros((3000, 3000), np.float32)[::-1, ::2], (5, 5)),
    "a field of records": (np.zeros(300_000, [("a", "f4"), ("b", "i8")])["b"], 77),
    "the order of Fortran": (np.zeros((1000, 1000), order="F"), (5, 7)),
}


@pytest.mark.parametrize("name", _LARGE)
def test_a_large_array_changes_with_each_element(name: str) -> None:
    array, place = _LARGE[name]
    before = array_checksum.of_values(array)
    array[place] = 7
    assert array_checksum.of_values(array) != before


def test_a_large_array_changes_if_elements_change_places() -> None:
    array = np.zeros(1_000_000)
    array[12_345] = 7
    before = array_checksum.of_values(array)
    array[12_345], array[54_321] = 0, 7
    assert array_checksum.of_values(array) != before
