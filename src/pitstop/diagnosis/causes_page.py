"""The page of causes, `docs/causes.md`, which an installed package has beside this module."""

from __future__ import annotations

import re
from pathlib import Path

_INSTALLED = Path(__file__).with_name("causes.md")
_IN_REPOSITORY = Path(__file__).parents[3] / "docs" / "causes.md"


def section(cause: str) -> str | None:
    """The section of a cause as Markdown, its heading included; None for a page without it."""
    path = _INSTALLED if _INSTALLED.exists() else _IN_REPOSITORY
    page = path.read_text(encoding="utf-8")
    found = re.search(rf"^### {re.escape(cause)}\n.*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return found and found.group().strip()
