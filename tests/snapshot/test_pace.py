"""Half of the time for the training, none when it is urgent."""

from __future__ import annotations

from pitstop.snapshot.saving import Pace


class Clock:
    """Time that passes only when somebody waits or works."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now

    def pass_by(self, seconds: float) -> None:
        self.now += seconds


def test_it_waits_as_long_as_each_piece_took() -> None:
    clock = Clock()
    pace = Pace(lambda: False, clock, clock.pass_by)
    for took_seconds in (0.5, 0.25):
        clock.pass_by(took_seconds)
        pace.after_piece()
    assert clock.now == 100.0 + 2 * 0.75
    assert pace.waited_seconds == 0.75


def test_it_does_not_wait_from_the_moment_on_that_it_is_urgent() -> None:
    clock, urgent = Clock(), [False]
    pace = Pace(lambda: urgent[0], clock, clock.pass_by)
    clock.pass_by(1.0)
    pace.after_piece()
    urgent[0] = True
    clock.pass_by(1.0)
    pace.after_piece()
    assert clock.now == 103.0
    assert pace.waited_seconds == 1.0
