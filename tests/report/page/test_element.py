"""Elements keep text as text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pitstop.report.page.element import element, items, plain, serialize, text_with_code
from tests.report.page.parsed import Page


@given(st.text(alphabet="<>&\"'/=!-abc script", max_size=40))
def test_no_text_becomes_markup(text: str) -> None:
    seen = Page(serialize(element("p", text, element("i"), text, title=text)))
    assert seen.tags == ["p", "i"]
    assert seen.text == text + text
    assert seen.attributes == [("title", text)]


def test_names_of_attributes() -> None:
    made = element("p", class_="a", data_panel="1", aria_label="x", viewBox="0")
    assert made.attrib == {"class": "a", "data-panel": "1", "aria-label": "x", "viewBox": "0"}


def test_commands_between_backquotes() -> None:
    html = serialize(element("p", *text_with_code("run `df -h` and `ls`; a lone ` stays")))
    assert html == "<p>run <code>df -h</code> and <code>ls</code>; a lone ` stays</p>"


def test_children_that_are_not_there_leave_nothing() -> None:
    assert serialize(element("p", None, "", "a", None, "b")) == "<p>ab</p>"
    assert serialize(items("ul", ())) == "<ul></ul>"


def test_what_no_page_can_hold_is_left_out() -> None:
    text = plain("a\x00b\x1b[0m\ud800\n\tc\uffff")
    assert text == "ab\n\tc\ufffd"
    text.encode("utf-8")
