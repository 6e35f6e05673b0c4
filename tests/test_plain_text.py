"""Texts of others do not command a terminal."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pitstop.plain_text import json_text, plain, plain_line


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("loss 0.1\n\tgrün 損失 ✓", "loss 0.1\n\tgrün 損失 ✓"),
        ("\x1b[1;31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07bad", "bad"),
        ("\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b]0;never ended\nnext", "\nnext"),
        ("\x9b2Jcleared", "cleared"),
        ("\x1bPq#0\x1b\\sixel", "sixel"),
        ("\x1b(0\x1b7\x1bcreset", "reset"),
        ("a\rb\x08c\x07d\x00e", "abcde"),
        ("safe\u202etxt.exe", "safetxt.exe"),
        ("it\u2019s \xe2\x80\x9d mojibake", "it\u2019s \xe2 mojibake"),
    ],
)
def test_what_a_terminal_obeys_is_left_out(text: str, shown: str) -> None:
    assert plain(text) == shown


@given(st.text(alphabet=st.characters(max_codepoint=0x2100)))
def test_nothing_that_is_obeyed_remains(text: str) -> None:
    shown = plain(text)
    assert all(each.isprintable() or each in "\n\t" or ord(each) > 0x9F for each in shown)
    assert plain(shown) == shown
    assert "\n" not in plain_line(text)


def test_names_and_values_of_a_tree_are_plain() -> None:
    value = {"a\x1b[2J": ["\x07b", 1, None, {"c": "\x1b[31md"}]}
    assert json.loads(json_text(value)) == {"a": ["b", 1, None, {"c": "d"}]}
