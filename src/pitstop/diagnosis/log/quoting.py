"""Lines as they were before a page, a notebook file or a comment quoted them."""

from __future__ import annotations

import html
import json
import re

_ENTITY = re.compile(r"&(?:lt|gt|quot|amp|nbsp|apos|#x?[0-9a-fA-F]{2,4});")
_TAG = re.compile(r"</?(?:pre|code|span|div|samp|tt|td|li|br|p|b|i)\b[^<>]*>", re.IGNORECASE)
_MARKS = " \t#>/*;|%"
_FEWEST_LINES = 3
_NOTEBOOK = re.compile(r'^\s*(?P<text>".*\\n"),?\s*$')
"""An output line in the file of a notebook."""

_LONE_MARKS = re.compile(r"^[\s#>/*;%|`'\"!$-]{1,16}(?:\d{1,2}[.)] )?(?=[A-Za-z_])")
_BOLD = re.compile(r"^\*\*([A-Za-z_][^*]*)\*{2,}")
_LAST_MARKS = re.compile(r"[\s`*]+$")


def unquoted(raw: str) -> str:
    """The line without what a page or a notebook's file made of it."""
    raw = _BOLD.sub(r"\1", raw) if raw.startswith("**") else raw
    text = _from_notebook(raw) if raw.endswith(('\\n",', '\\n"')) else raw
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text).replace("\xa0", " ")
    return _TAG.sub("", text) if "<" in text else text


def without_marks(text: str) -> str:
    """A lone line without marks of comments, quotations, lists and emphasis around it."""
    found = _LONE_MARKS.match(text)
    return _LAST_MARKS.sub("", text[found.end() :]) if found else text


def without_common_marks(lines: list[str]) -> list[str]:
    """The lines without the marks and the indentation that stand before all of them."""
    told = [line for line in lines if line.strip(_MARKS)]
    marks = _shared_start([line[: len(line) - len(line.lstrip(_MARKS))] for line in told])
    if not marks or len(told) < _FEWEST_LINES:
        return lines
    return [line.removeprefix(marks) if line.strip(_MARKS) else "" for line in lines]


def _shared_start(texts: list[str]) -> str:
    """What all texts begin with."""
    if not texts:
        return ""
    first, last = min(texts), max(texts)
    pairs = enumerate(zip(first, last, strict=False))
    end = next((i for i, (one, other) in pairs if one != other), min(len(first), len(last)))
    return first[:end]


def _from_notebook(raw: str) -> str:
    found = _NOTEBOOK.match(raw)
    if found is None:
        return raw
    try:
        return str(json.loads(found["text"])).rstrip("\n")
    except ValueError:
        return raw
