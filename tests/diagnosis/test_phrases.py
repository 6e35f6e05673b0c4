"""Numbers in words."""

from __future__ import annotations

import pytest

from pitstop.diagnosis import phrases


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1500, "1.5 kB"),
        (5 * 10**9, "5.0 GB"),
        (10**16, "10000.0 TB"),
    ],
)
def test_size(size_bytes: int, text: str) -> None:
    assert phrases.size(size_bytes) == text


def test_steps_and_places() -> None:
    assert (phrases.steps(1), phrases.steps(1200)) == ("1 step", "1,200 steps")
    assert phrases.place(47, 0, 47) == "step 47"
    assert phrases.place(1200, 0, 7) == "step 1,200 (epoch 1, batch 7)"


def test_shorten_takes_the_first_line() -> None:
    assert phrases.shorten("one\ntwo") == "one"
    assert phrases.shorten("x" * 20, 10) == "xxxxxxx..."


def test_source_lines() -> None:
    assert phrases.source_line("a.py", 3, "f") == "a.py:3 in f()"
    assert phrases.source_line("a.py", 3, "<module>") == "a.py:3"
    assert phrases.source_line("/v/site-packages/keras/c.py", 3) == "keras/c.py:3"
    assert phrases.source_line("", 0) == "an unknown place"


def test_limits() -> None:
    assert phrases.limit({"soft": 3, "hard": None}) == "soft 3, hard unlimited"
