"""The page about causes has a section for each, and says which have no rule."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from types import ModuleType

import pytest

from pitstop.diagnosis import CAUSES, Evidence, Finding, rules
from pitstop.diagnosis.engine import RULES
from pitstop.diagnosis.signatures.tables import SIGNATURES
from pitstop.diagnosis.wording import FINDINGS
from tests.source_tree import ROOT, modules, string_constants

_PAGE = (ROOT / "docs" / "causes.md").read_text(encoding="utf-8")
_NO_RULE = "no rule gives this cause yet"
_PARTS = ("Seen by", "Mistaken for", "Do")
_RULE_MODULES = tuple(
    importlib.import_module(f"{rules.__name__}.{found.name}")
    for found in pkgutil.iter_modules(rules.__path__)
)


def _sections() -> dict[str, str]:
    """The text of each section by its heading."""
    parts = re.split(r"^### (\w+)$", _PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], parts[2::2], strict=True))


def _rules_of(module: ModuleType) -> Iterator[object]:
    for name, function in inspect.getmembers(module, inspect.isfunction):
        is_own = function.__module__ == module.__name__ and not name.startswith("_")
        hints = inspect.get_annotations(function, eval_str=True)
        if is_own and hints == {"evidence": Evidence, "return": Finding | None}:
            yield function


def _named_in_the_rules() -> set[str]:
    sources = [each for each in modules() if each.name.startswith("pitstop.diagnosis.rules")]
    told = {text for each in sources for text in string_constants(each)} & set(CAUSES)
    return (
        told
        | {row.cause for row in SIGNATURES if row.cause}
        | {row["cause"] for row in FINDINGS.values()}
    )


def test_every_cause_has_a_section_and_every_section_a_cause() -> None:
    headings = re.findall(r"^### (.+)$", _PAGE, re.MULTILINE)
    assert sorted(headings) == sorted(CAUSES)


def test_the_table_lists_the_sections_in_their_order() -> None:
    rows = re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\) \| (.+) \|$", _PAGE, re.MULTILINE)
    assert [name for name, _, _ in rows] == [anchor for _, anchor, _ in rows] == list(_sections())
    assert not [meaning for _, _, meaning in rows if len(meaning.split()) > 5]


@pytest.mark.parametrize("cause", CAUSES)
def test_a_section_says_what_is_seen_what_it_is_not_and_what_to_do(cause: str) -> None:
    section = _sections()[cause]
    assert re.findall(r"^- \*\*(.+):\*\* \S", section, re.MULTILINE) == list(_PARTS)


def test_every_rule_that_is_written_is_run() -> None:
    written = {rule for module in _RULE_MODULES for rule in _rules_of(module)}
    assert written == set(RULES)


def test_the_causes_without_a_rule_are_said_to_have_none() -> None:
    admitted = {cause for cause, text in _sections().items() if _NO_RULE in text}
    assert admitted == set(CAUSES) - _named_in_the_rules()
