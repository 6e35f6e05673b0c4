"""Numbers that a run repeats: in its processes, not in their children and threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from pitstop.engine.randomness import entropy
from pitstop.engine.randomness.entropy import Entropy


@pytest.fixture(autouse=True)
def none_yet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entropy, "_current", None)


def environment(attempt_dir: Path, key: str = "ab12") -> dict[str, str]:
    return {"PITSTOP_ENTROPY": key, "PITSTOP_STACKS": str(attempt_dir / "stacks.txt")}


def numbers(begun: Entropy | None) -> list[int]:
    assert begun is not None
    return [begun.bits("python", 64) for _ in range(3)]


def test_each_attempt_begins_alike_and_each_run_otherwise(tmp_path: Path) -> None:
    for name in ("1", "2", "3"):
        (tmp_path / name).mkdir()
    first = numbers(entropy.begin(environment(tmp_path / "1")))
    assert numbers(entropy.begin(environment(tmp_path / "2"))) == first
    assert numbers(entropy.begin(environment(tmp_path / "3", "cd34"))) != first
    assert len(set(first)) == 3


def test_processes_of_an_attempt_draw_other_numbers(tmp_path: Path) -> None:
    first = numbers(entropy.begin(environment(tmp_path)))
    assert numbers(entropy.begin(environment(tmp_path))) != first


def test_a_child_has_no_part_in_it_and_a_program_that_takes_our_place_has(tmp_path: Path) -> None:
    taken = environment(tmp_path)
    first = numbers(entropy.begin(taken))
    assert numbers(entropy.begin(taken)) == first
    assert entropy.begin({**taken, "PITSTOP_ENTROPY": f"ab12:{os.getpid() + 1}"}) is None


def test_purposes_and_counts_are_their_own(tmp_path: Path) -> None:
    begun = entropy.begin(environment(tmp_path))
    assert begun is not None
    assert begun.bits("python", 64) != begun.bits("numpy", 64)
    assert begun.bits("numpy", 3) < 8
    assert list(entropy.drawn().items()) == [("numpy", 2), ("python", 1)]


def test_a_resume_goes_on_where_the_cut_was(tmp_path: Path) -> None:
    begun = numbers(entropy.begin(environment(tmp_path)))
    drawn = entropy.drawn()
    following = entropy.bits("python", 64)
    entropy.go_on(drawn)
    assert entropy.bits("python", 64) == following
    assert following not in begun


def test_threads_and_strangers_get_numbers_that_nobody_repeats(tmp_path: Path) -> None:
    entropy.begin(environment(tmp_path))
    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(entropy.bits, "generators", 128).result()
    assert entropy.drawn() == {}
    assert drawn != entropy.bits("generators", 128)
