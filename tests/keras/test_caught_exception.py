"""Exceptions that a script caught, raised again in another process."""

from __future__ import annotations

import pytest

from pitstop.keras.caught_exception import again, describe


class Interruption(RuntimeError):
    """Of the script's own."""


class Rude(ValueError):
    """Whose constructor takes something else than it keeps."""

    def __init__(self, code: int) -> None:
        super().__init__(f"code {code}")


@pytest.mark.parametrize(
    "error", [RuntimeError("Interruption"), Interruption("a", 2), ValueError(), KeyError("x")]
)
def test_an_exception_comes_back_as_it_was(error: Exception) -> None:
    record = describe(error)
    assert record is not None
    found = again(record)
    assert (type(found), found.args if found else None) == (type(error), error.args)


def test_what_cannot_come_back_as_it_was_is_not_kept() -> None:
    class Local(Exception):
        pass

    with_note = RuntimeError("x")
    with_note.place = 3  # type: ignore[attr-defined]
    for error in (Rude(3), Local(), RuntimeError(object()), MemoryError("full"), with_note):
        assert describe(error) is None


def test_nothing_is_loaded_by_name() -> None:
    record = describe(RuntimeError("x"))
    assert record is not None
    assert again({**record, "module": "antigravity", "class": "Error"}) is None
    assert again({**record, "module": "os", "class": "system"}) is None
