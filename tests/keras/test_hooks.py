"""Each hook in turn fails: Keras does what it would have done."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.engine import fence
from pitstop.engine.fence import Fence
from pitstop.keras import hooks
from pitstop.keras.instrumentation import Instrumentation


class Unwell:
    """A training of which everything fails."""

    def __getattr__(self, name: str) -> Any:
        raise LookupError(name)


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    places: list[str] = []

    class Noting(Fence):
        def note(self, place: str, error: Exception, *, spoils: bool = False) -> None:
            places.append(f"{type(error).__name__} {spoils}")

    monkeypatch.setattr(fence, "FENCE", Noting())
    return places


NAMES = [f"{owner.__name__}.{name}" for owner, name, _ in hooks.OBSERVED]


@pytest.mark.parametrize("row", hooks.OBSERVED, ids=NAMES)
def test_a_method_runs_whatever_happens_to_who_looks_on(row: Any, noted: list[str]) -> None:
    owner, name, around = row
    given = (None,) * len(inspect.signature(getattr(owner, name)).parameters)
    assert around(Unwell(), lambda *given: given, *given) == given
    assert noted == ["LookupError True"]


@pytest.mark.parametrize(
    ("notify", "given"),
    [
        (Instrumentation.note_stop_training, (None, None)),
        (Instrumentation.note_random_op, ("RandomUniform",)),
    ],
)
def test_a_notice_of_a_framework_does_no_harm(
    notify: Any, given: tuple[Any, ...], noted: list[str]
) -> None:
    notify(SimpleNamespace(training=Unwell()), *given)
    assert [each.split()[0] for each in noted] == ["LookupError"]
