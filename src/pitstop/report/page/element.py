"""HTML and SVG elements, and the frame of a page with its style and scripts."""

import base64
import hashlib
import re
from collections.abc import Iterable
from functools import cache
from importlib import resources
from xml.etree.ElementTree import Element, tostring

from pitstop import plain_text

STYLE, HOVER = "style.css", "hover.js"


@cache
def shipped(name: str, package: str = "pitstop.report.page") -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")


def document(title: str, main: Element, style: str, scripts: tuple[str, ...]) -> str:
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=policy(scripts)),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", style),
    )
    body: list[Child] = [main, *(element("script", each) for each in scripts)]
    page = element("html", head, element("body", *body), lang="en")
    return "<!doctype html>\n" + serialize(page)


def policy(scripts: tuple[str, ...]) -> str:
    """A content security policy: these scripts, and connections to where the page came from."""
    digests = (base64.b64encode(hashlib.sha256(each.encode()).digest()) for each in scripts)
    hashes = " ".join(f"'sha256-{each.decode()}'" for each in digests) or "'none'"
    return (
        "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; "
        f"base-uri 'none'; form-action 'none'; script-src {hashes}"
    )


Child = Element | str | None  # what stands in an element; None stands for nothing

# What HTML forbids, and halves of characters, which no file can hold.
_FORBIDDEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_RAW = frozenset({"script", "style"})
_LONGEST = 8000  # characters of one text; a page stays small whatever a run printed
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
    shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]} ... ({len(text):,} characters)"
    return _FORBIDDEN.sub("\ufffd", plain_text.plain(shown))


def section(title: str, content: Element | None, **attributes: str) -> Element | None:
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
