"""Who saves a session, and what a resume of it is like."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from pitstop.tensorflow.session_course import keeping


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
