"""HTML and SVG elements.  Pure.

Elements are nodes, never pasted text, so that whatever a run printed stays text: the
standard library's serializer escapes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from xml.etree.ElementTree import Element, tostring

from pitstop import plain_text

Child = Element | str | None
"""What stands in an element; None stands for nothing."""

# What HTML forbids, and halves of characters, which no file can hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_RAW = frozenset({"script", "style"})
_LONGEST = 8000
"""Characters of one text; a page stays small whatever a run printed."""
_CODE = re.compile(r"`([^`]+)`")


def element(tag: str, *children: Child, **attributes: str) -> Element:
    """An element; `class_` is the attribute `class`, and `_` in other names is `-`."""
    names = {name.rstrip("_").replace("_", "-"): value for name, value in attributes.items()}
    made = Element(tag, {name: plain(value) for name, value in names.items()})
    for child in children:
        _add(made, plain(child) if isinstance(child, str) and tag not in _RAW else child)
    return made


def text_with_code(text: str) -> tuple[Child, ...]:
    """A text of ours, in which backquotes mark commands."""
    parts = _CODE.split(text)
    return tuple(element("code", part) if i % 2 else part for i, part in enumerate(parts))


def items(tag: str, texts: Iterable[str], **attributes: str) -> Element:
    entries = (element("li", *text_with_code(text)) for text in texts)
    return element(tag, *entries, **attributes)


def plain(text: str) -> str:
    """The text without what a page cannot show, cut short when it is very long."""
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text):,} characters)"
    return _FORBIDDEN.sub("\ufffd", plain_text.plain(shown))


def section(title: str, content: Element | None, **attributes: str) -> Element | None:
    """What is found under a title; nothing where nothing is."""
    if content is None or not len(content):
        return None
    return element("section", element("h2", title), content, **attributes)


def serialize(root: Element) -> str:
    return tostring(root, encoding="unicode", method="html")


def _add(parent: Element, child: Child) -> None:
    if isinstance(child, Element):
        parent.append(child)
    elif child:
        before = parent[-1] if len(parent) else None
        if before is None:
            parent.text = (parent.text or "") + child
        else:
            before.tail = (before.tail or "") + child
