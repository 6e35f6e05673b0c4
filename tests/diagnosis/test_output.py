"""Cleaning of terminal output."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.diagnosis import output


@pytest.mark.parametrize(
    ("raw", "shown"),
    [
        ("\x1b[1m3/20\x1b[0m \x1b[32m━━━\x1b[0m", "3/20 ━━━"),
        ("\r1/20 a\r2/20 b", "2/20 b"),
        ("\x08\x08\x08\r 2/20 b\nnext", " 2/20 b\nnext"),
        ("windows line\r\nnext", "windows line\nnext"),
        ("\x1b]0;title\x07text", "text"),
        ("no escapes", "no escapes"),
        ("\r\r\n", "\n"),
    ],
)
def test_clean(raw: str, shown: str) -> None:
    assert output.clean(raw) == shown


@given(st.text(alphabet="ab\n\r\b\x1b[0m", max_size=60))
def test_clean_keeps_the_lines_and_leaves_no_control_characters(raw: str) -> None:
    cleaned = output.clean(raw)
    assert not set("\r\b") & set(cleaned)
    assert cleaned.count("\n") == raw.count("\n")


def test_last_lines_skip_blank_ones() -> None:
    assert output.last_lines("a\n\n b \n\n", 2) == ["a", "b"]
