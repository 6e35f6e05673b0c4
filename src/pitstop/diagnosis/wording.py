"""What a diagnosis says, in the words of two tables; and the page of causes."""

import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pitstop.diagnosis.finding import EvidenceItem, Finding

_INSTALLED = Path(__file__).with_name("causes.md")
_IN_REPOSITORY = Path(__file__).parents[3] / "docs" / "causes.md"


def section(cause: str) -> str | None:
    """The section of a cause as Markdown, its heading included; None for a page without it."""
    path = _INSTALLED if _INSTALLED.exists() else _IN_REPOSITORY
    page = path.read_text(encoding="utf-8")
    found = re.search(rf"^### {re.escape(cause)}\n.*?(?=^##|\Z)", page, re.MULTILINE | re.DOTALL)
    return found and found.group().strip()


def read_table(path: Path) -> Mapping[str, Any]:
    return MappingProxyType(tomllib.loads(path.read_text(encoding="utf-8")))


ADVICE: Mapping[str, str] = read_table(Path(__file__).with_name("advice.toml"))
"""What to do, by name."""

FINDINGS = read_table(Path(__file__).with_name("findings.toml"))


def tell(
    name: str,
    seen: Iterable[EvidenceItem],
    /,
    *,
    confidence: float | None = None,
    advice: Iterable[str] = (),
    missing: Iterable[str] = (),
    **values: object,
) -> Finding:
    """The finding of that name, with `values` in its words.

    `advice` and `missing` come before those of the table, and `confidence` takes its place.
    """
    row = FINDINGS[name]
    told = (ADVICE.get(each, each).format(**values) for each in row.get("advice", ()))
    return Finding(
        row["cause"],
        row["confidence"] if confidence is None else confidence,
        row["text"].format(**values),
        tuple(seen),
        (*advice, *told),
        (*missing, *row.get("missing", ())),
    )
