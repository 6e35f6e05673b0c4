"""Each hook in Keras 2 fails in turn: Keras does what it would have done."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from tests.keras.test_hooks import Unwell, noted  # noqa: F401  a fixture

hooks = pytest.importorskip("pitstop.keras.legacy_hooks", exc_type=ModuleNotFoundError)
NAMES = [f"{owner.__name__}.{name}" for owner, name, _ in hooks.OBSERVED]


@pytest.mark.parametrize("row", hooks.OBSERVED, ids=NAMES)
def test_a_method_runs_whatever_happens_to_who_looks_on(
    row: Any,
    noted: list[str],  # noqa: F811
) -> None:
    owner, name, around = row
    given = (None,) * len(inspect.signature(getattr(owner, name)).parameters)
    assert around(Unwell(), lambda *given: given, *given) == given
    assert noted == ["LookupError True"]
