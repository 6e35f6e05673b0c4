"""Who saves a session, and what a resume of it is like."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pitstop.tensorflow.sessions.session_course import LoopHead, is_drawn, keeping


def test_a_session_with_a_folder_goes_on_from_there() -> None:
    kept = keeping("logs/train", saves=True, by_chief=False)
    assert kept.saved
    assert kept.restores
    assert kept.level.level == "not_exact"
    assert "in logs/train" in kept.level.reason


def test_a_worker_goes_on_from_what_its_chief_saves() -> None:
    kept = keeping("", saves=False, by_chief=True)
    assert kept.saved
    assert not kept.restores


@pytest.mark.parametrize("inside", ["", "model"])
def test_a_folder_with_a_drawn_name_is_not_found_again(inside: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        kept = keeping(str(Path(folder) / inside), saves=True, by_chief=False)
    assert not kept.saved
    assert folder in kept.level.reason


def test_a_folder_that_the_user_has_named_is_found_again() -> None:
    folder = Path(tempfile.gettempdir()) / "mnist_logs"
    assert keeping(str(folder), saves=True, by_chief=False).saved


def test_nothing_is_saved_without_a_folder() -> None:
    assert not keeping("", saves=False, by_chief=False).saved


def heads(places: str) -> str:
    """Those of the places where a turn of the loop begins."""
    head = LoopHead()
    return "".join(place if head.is_at(place) else "." for place in places)


def test_a_turn_begins_at_the_first_place_that_comes_again() -> None:
    assert heads("itctctc") == "...t.t."


def test_what_runs_now_and_then_begins_no_turn() -> None:
    assert heads("tctcstctct") == "..t....t.t"


def test_each_loop_has_its_own_head() -> None:
    assert heads("wwwtctct") == ".ww..t.t"


@pytest.mark.parametrize(
    ("path", "drawn"),
    [("tmpa1b2c3_4/saved", True), ("pymp-a1b2c3_4/ckpt", True), ("saved", False)],
)
def test_a_folder_that_the_next_run_does_not_find(path: str, *, drawn: bool) -> None:
    assert is_drawn(Path(tempfile.gettempdir()) / path) == drawn
