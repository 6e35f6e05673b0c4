"""The comparison behind the exactness tests notices every kind of difference."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.integration.compare import assert_identical, first_difference

_BASE: dict[str, Any] = {
    "loss": np.array([0.5, np.nan, 0.25]),
    "scalar": np.float32(0.0),
    "weights": np.arange(6, dtype=np.float32).reshape(2, 3),
    "history": np.array('{"loss": [1.0]}'),
}


def _save(path: Path, **changed: Any) -> Path:
    np.savez(path, **(_BASE | changed))
    return path


def test_equal_files_are_identical_nan_included(tmp_path: Path) -> None:
    assert_identical(_save(tmp_path / "a.npz"), _save(tmp_path / "b.npz"))


@pytest.mark.parametrize(
    ("changed", "named"),
    [
        ({"loss": np.array([0.5, np.nan, np.nextafter(0.25, 1)])}, "loss[2]"),
        ({"loss": np.array([0.5, np.nan])}, "loss: float64(3,) expected, got float64(2,)"),
        ({"scalar": np.float32(-0.0)}, "scalar[]"),
        ({"weights": np.arange(6, dtype=np.float64).reshape(2, 3)}, "weights: float32"),
        ({"weights": np.array([[0, 1, 2], [3, 9, 5]], np.float32)}, "weights[1, 1]"),
        ({"history": np.array('{"loss": [2.0]}')}, "history: "),
        ({"extra": np.zeros(1)}, "extra"),
    ],
)
def test_the_first_difference_is_named(tmp_path: Path, changed: dict[str, Any], named: str) -> None:
    expected, actual = _save(tmp_path / "a.npz"), _save(tmp_path / "b.npz", **changed)
    assert named in (first_difference(expected, actual) or "")
    with pytest.raises(AssertionError):
        assert_identical(expected, actual)
