"""Looks once a second, and tells of each shortage once."""

from __future__ import annotations

from collections.abc import Iterable

from pitstop.machine.memory import MemoryPressure
from pitstop.supervisor.stops.pressure import PressureWatch

_TRAINER_BYTES = 1000


def _told(
    samples: Iterable[MemoryPressure], trainer_bytes: int | None = _TRAINER_BYTES
) -> list[str]:
    """What is told at each second."""
    every = list(samples)
    left = iter(every)
    watch = PressureWatch(lambda: next(left))
    return [watch.rises(float(now), lambda: trainer_bytes, 0) for now in range(1, len(every) + 1)]


def _seconds(told: list[str], words: str) -> list[int]:
    return [second for second, text in enumerate(told, start=1) if words in text]


def _memory(*available: int) -> list[MemoryPressure]:
    return [MemoryPressure(each, None, None, None) for each in available]


def test_memory_is_told_when_less_than_a_twentieth_of_the_trainer_is_left() -> None:
    assert _seconds(_told(_memory(500, 500, 500, 500, 50, 49, 48, 49)), "of memory") == [6]


def test_it_is_told_again_after_relief_and_not_for_wavering() -> None:
    assert _seconds(_told(_memory(49, 60, 49, 99, 49, 100, 49)), "of memory") == [1, 7]


def test_memory_that_keeps_falling_is_told_before_it_is_gone() -> None:
    falling = _memory(1000, 900, 800, 700, 600, 500, 400)
    assert _seconds(_told(falling), "of memory (500 MB") == []
    assert _seconds(_told(falling), "of memory") == [6]


def test_one_jump_is_not_falling() -> None:
    assert _told(_memory(1000, 1000, 1000, 500, 500, 500)) == [""] * 6


def test_swapping_is_told_when_it_lasts() -> None:
    once = [MemoryPressure(1 << 40, None, total << 24, None) for total in (0, 0, 9, 9, 9, 9)]
    assert _seconds(_told(once), "swapped") == []
    lasting = [MemoryPressure(1 << 40, None, total << 24, None) for total in (0, 1, 2, 3, 4, 4)]
    assert _seconds(_told(lasting), "swapped") == [4]


def test_several_at_once_are_told_together() -> None:
    (text,) = _told([MemoryPressure(0, 0.5, None, 0)])
    assert "of memory (" in text
    assert "wait for it (in 50% of" in text
    assert "of disk space" in text


def test_it_looks_once_a_second() -> None:
    looks: list[int] = []

    def look() -> MemoryPressure:
        looks.append(1)
        return MemoryPressure(1 << 40, None, None, None)

    watch = PressureWatch(look)
    for tenth in range(10, 30):
        watch.rises(tenth / 10, lambda: _TRAINER_BYTES, 0)
    assert len(looks) == 2


def test_a_trainer_that_is_gone_is_not_asked_about() -> None:
    assert _told(_memory(0, 0), trainer_bytes=None) == ["", ""]
