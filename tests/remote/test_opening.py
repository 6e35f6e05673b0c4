"""Which of two copies a run goes on from."""

from __future__ import annotations

import pytest

from pitstop.remote.opening import Choice, Side, choose

_OLD, _NEW = Side(3, 100.0, 500), Side(4, 200.0, 700)


@pytest.mark.parametrize(
    ("local", "remote", "choice"),
    [
        (None, None, Choice.BEGIN),
        (_OLD, None, Choice.LOCAL),
        (None, _OLD, Choice.FETCH),
        (_OLD, _OLD, Choice.LOCAL),
        (_OLD, _NEW, Choice.REPLACE),
        (_NEW, _OLD, Choice.LOCAL),
        # Two lines of one run that saved as often: the later one.
        (Side(3, 100.0, 900), Side(3, 101.0, 500), Choice.REPLACE),
        # An attempt elsewhere that saved nothing new, and ended.
        (Side(3, 100.0, 500), Side(3, 100.0, 501), Choice.REPLACE),
    ],
)
def test_the_newer_one_wins(local: Side | None, remote: Side | None, choice: Choice) -> None:
    assert choose(local, remote) is choice
