"""Large states are copied before the next steps."""

from __future__ import annotations

from pitstop.engine.copy_mode import LARGE_BYTES, is_copied_before


def test_only_what_is_large_is_waited_for() -> None:
    assert not is_copied_before(0)
    assert not is_copied_before(LARGE_BYTES - 1)
    assert is_copied_before(LARGE_BYTES)
