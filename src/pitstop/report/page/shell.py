"""The frame of a page: its style, its scripts, and what a browser may do with it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from xml.etree.ElementTree import Element

from pitstop.report.page.element import Child, element, serialize

STYLE, HOVER = "style.css", "hover.js"


@cache
def shipped(name: str, package: str = "pitstop.report.page") -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")


def document(title: str, main: Element, style: str, scripts: tuple[str, ...]) -> str:
    """A whole HTML document, whose only scripts are these."""
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
    """A content security policy: these scripts, and connections to where the page came from.

    Should a text of the run ever get out of its place, nothing in it is executed or loaded.
    """
    hashes = " ".join(f"'sha256-{_digest(each)}'" for each in scripts) or "'none'"
    return (
        "default-src 'none'; style-src 'unsafe-inline'; connect-src 'self'; "
        f"base-uri 'none'; form-action 'none'; script-src {hashes}"
    )


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
