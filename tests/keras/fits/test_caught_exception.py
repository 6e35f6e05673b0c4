"""Exceptions that a script caught, raised again in another process."""

from __future__ import annotations

import math

import pytest

from pitstop.keras.fits.caught_exception import again, describe


class Interruption(RuntimeError):
    """Of the script's own."""


class Diverged(ValueError):
    """Whose constructor takes something else than it hands on."""

    def __init__(self, step: int, loss: float) -> None:
        super().__init__(f"at {step}: {loss}")
        self.step, self.loss = step, loss


class Rude(ValueError):
    def __str__(self) -> str:
        return str(id(self))


@pytest.mark.parametrize(
    "error",
    [
        *(RuntimeError("Interruption"), Interruption("a", 2), ValueError(), KeyError("x")),
        *(Diverged(3, 0.1), Diverged(3, math.nan)),
    ],
    ids=repr,
)
def test_an_exception_comes_back_as_it_was(error: Exception) -> None:
    record = describe(error)
    assert record is not None
    found = again(record)
    assert (type(found), found.args if found else None) == (type(error), error.args)
    assert repr(vars(found)) == repr(vars(error))


def test_what_cannot_come_back_as_it_was_is_not_kept() -> None:
    class Local(Exception):
        pass

    with_place = RuntimeError("x")
    with_place.place = (3, 4)  # type: ignore[attr-defined]
    for error in (Rude(3), Local(), RuntimeError(object()), MemoryError("full"), with_place):
        assert describe(error) is None


def test_nothing_is_loaded_by_name() -> None:
    record = describe(RuntimeError("x"))
    assert record is not None
    assert again({**record, "module": "antigravity", "class": "Error"}) is None
    assert again({**record, "module": "os", "class": "system"}) is None
