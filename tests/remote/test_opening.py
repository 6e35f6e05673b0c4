"""Which of two copies a run goes on from."""

from __future__ import annotations

import pytest

from pitstop.remote.opening import MirrorChoice, MirrorSide, choose

_OLD, _NEW = MirrorSide(3, 100.0, 500), MirrorSide(4, 200.0, 700)


@pytest.mark.parametrize(
    ("local", "remote", "choice"),
    [
        (None, None, MirrorChoice.BEGIN),
        (_OLD, None, MirrorChoice.LOCAL),
        (None, _OLD, MirrorChoice.FETCH),
        (_OLD, _OLD, MirrorChoice.LOCAL),
        (_OLD, _NEW, MirrorChoice.REPLACE),
        (_NEW, _OLD, MirrorChoice.LOCAL),
        # Two lines of one run that saved as often: the later one.
        (MirrorSide(3, 100.0, 900), MirrorSide(3, 101.0, 500), MirrorChoice.REPLACE),
        # An attempt elsewhere that saved nothing new, and ended.
        (MirrorSide(3, 100.0, 500), MirrorSide(3, 100.0, 501), MirrorChoice.REPLACE),
    ],
)
def test_the_newer_one_wins(
    local: MirrorSide | None, remote: MirrorSide | None, choice: MirrorChoice
) -> None:
    assert choose(local, remote) is choice
