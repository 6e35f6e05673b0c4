"""Lines as they were before a page, a notebook file or a comment quoted them."""

from __future__ import annotations

import html
import json
import re

_ENTITY = re.compile(r"&(?:lt|gt|quot|amp|nbsp|apos|#x?[0-9a-fA-F]{2,4});")
_TAG = re.compile(r"</?(?:pre|code|span|div|samp|tt|td|li|br|p|b|i)\b[^<>]*>", re.IGNORECASE)
_NOTEBOOK = re.compile(r'^\s*(?P<text>".*\\n"),?\s*$')
"""An output line in the file of a notebook."""

_LONE_MARKS = re.compile(r"^[\s#>/*;%|`'\"!$-]{1,16}(?:\d{1,2}[.)] )?(?=[A-Za-z_])")
_LAST_MARKS = re.compile(r"[\s`*]+$")


def unquoted(raw: str) -> str:
    """The line without what a page or a notebook's file made of it."""
    text = _from_notebook(raw) if raw.endswith(('\\n",', '\\n"')) else raw
    if "&" in text and _ENTITY.search(text):
        text = html.unescape(text).replace("\xa0", " ")
    return _TAG.sub("", text) if "<" in text else text


def without_marks(text: str) -> str:
    """A lone line without marks of comments, quotations, lists and emphasis around it."""
    found = _LONE_MARKS.match(text)
    return _LAST_MARKS.sub("", text[found.end() :]) if found else text


def _from_notebook(raw: str) -> str:
    found = _NOTEBOOK.match(raw)
    if found is None:
        return raw
    try:
        return str(json.loads(found["text"])).rstrip("\n")
    except ValueError:
        return raw
