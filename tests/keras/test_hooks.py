"""Each hook in turn fails: Keras does what it would have done."""

from __future__ import annotations

import inspect
from types import SimpleNamespace
from typing import Any

import pytest

from pitstop.engine import fence
from pitstop.engine.fence import Fence
from pitstop.keras import hooks, instrumentation


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


NAMES = [f"{owner.__name__}.{name}" for owner, name, _, _ in hooks.OBSERVED]


@pytest.mark.parametrize("row", hooks.OBSERVED, ids=NAMES)
def test_a_method_runs_whatever_happens_to_who_looks_on(row: Any, noted: list[str]) -> None:
    owner, name, when, observe = row
    watched: Any = SimpleNamespace(training=Unwell())
    method = when(observe)(watched)(lambda *given: given)
    given = (None,) * len(inspect.signature(getattr(owner, name)).parameters)
    assert method(*given) == given
    assert noted == ["LookupError True"]


@pytest.mark.parametrize(
    "hook", [instrumentation.stop_training_hook, instrumentation._hidden_random_op]
)
def test_a_notice_of_a_framework_does_no_harm(hook: Any, noted: list[str]) -> None:
    watched: Any = SimpleNamespace(training=Unwell())
    given = (None, None) if hook is instrumentation.stop_training_hook else ("RandomUniform",)
    hook(watched)(*given)
    assert [each.split()[0] for each in noted] == ["LookupError"]
