"""Memory that gets short is told once."""

from __future__ import annotations

from pitstop.supervisor.pressure import PressureWatch

TRAINER_BYTES = 1000


def told(available: list[int], trainer_bytes: int | None = TRAINER_BYTES) -> list[int]:
    """The seconds at which it is told, with so much memory left at each."""
    left = iter(available)
    watch = PressureWatch(lambda: next(left))
    return [now for now in range(1, len(available) + 1) if watch.rises(float(now), trainer_bytes)]


def test_it_is_told_when_less_than_a_twentieth_of_the_trainer_is_left() -> None:
    assert told([500, 50, 49, 48, 0]) == [3]


def test_it_is_told_again_after_relief_and_not_for_wavering() -> None:
    assert told([49, 60, 49, 99, 49, 100, 49]) == [1, 7]


def test_it_looks_once_a_second() -> None:
    looks: list[int] = []

    def look() -> int:
        looks.append(1)
        return 500

    watch = PressureWatch(look)
    for tenth in range(10, 30):
        watch.rises(tenth / 10, TRAINER_BYTES)
    assert len(looks) == 2


def test_a_trainer_that_is_gone_is_not_asked_about() -> None:
    assert told([0, 0], trainer_bytes=None) == []
