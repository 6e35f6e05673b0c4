"""The way of copying that costs less is found and kept."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.engine.copy_mode import CopyMode, CopyModeChooser

LARGE = 800 << 20


def run(chooser: CopyModeChooser, costs: dict[CopyMode, float], count: int) -> list[CopyMode]:
    chosen = [chooser.choose(0)]
    chooser.measured(costs[chosen[0]] * 5)  # the first one makes the arena
    for _ in range(count):
        chosen.append(chooser.choose(LARGE))
        chooser.measured(costs[chosen[-1]])
    return chosen


def test_small_states_are_copied_beside_the_steps() -> None:
    chooser = CopyModeChooser()
    assert {chooser.choose(size) for size in (0, 1 << 20, 63 << 20)} == {CopyMode.BESIDE}


@given(st.floats(0.001, 1.0), st.floats(0.001, 1.0))
def test_large_states_are_copied_the_cheaper_way(beside: float, before: float) -> None:
    costs = {CopyMode.BESIDE: beside, CopyMode.BEFORE: before}
    cheaper = min(CopyMode, key=lambda mode: costs[mode])
    chosen = run(CopyModeChooser(), costs, 200)[5:]
    if beside != before:
        assert chosen.count(cheaper) >= 0.95 * len(chosen)


def test_the_dearer_way_is_looked_at_again() -> None:
    chooser = CopyModeChooser()
    run(chooser, {CopyMode.BESIDE: 0.01, CopyMode.BEFORE: 0.04}, 40)
    later = run(chooser, {CopyMode.BESIDE: 0.4, CopyMode.BEFORE: 0.04}, 200)[-20:]
    assert later.count(CopyMode.BEFORE) >= 19
