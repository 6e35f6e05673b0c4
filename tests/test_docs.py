"""The documentation names what exists, and what exists is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.faults.catalog import SCENARIOS
from pitstop import __version__
from pitstop.cli.commands import COMMANDS
from tests.source_tree import ROOT

_PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ +(.+)$", re.MULTILINE)
_FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def _relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def _anchors(page: Path) -> set[str]:
    """The names a forge gives to the headings of a page."""
    headings = _HEADING.findall(_FENCE.sub("", page.read_text(encoding="utf-8")))
    return {re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-") for text in headings}


def _broken(page: Path, target: str) -> bool:
    path, _, anchor = target.partition("#")
    file = (page.parent / path).resolve() if path else page
    if not file.exists():
        return True
    return bool(anchor) and file.suffix == ".md" and anchor not in _anchors(file)


@pytest.mark.parametrize("page", _PAGES, ids=_relative)
def test_links_lead_somewhere(page: Path) -> None:
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target for target in _LINK.findall(text) if not re.match(r"\w+:", target)]
    assert not [target for target in targets if _broken(page, target)]


@pytest.mark.parametrize("name", ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"])
def test_the_pages_a_reader_looks_for_exist(name: str) -> None:
    assert ROOT / name in _PAGES


def test_every_command_is_documented() -> None:
    text = "\n".join(page.read_text(encoding="utf-8") for page in _PAGES)
    missing = [name for name in COMMANDS if f"pitstop {name}" not in text]
    assert not missing


def test_the_scenarios_of_the_fault_bench_are_counted() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"`make faults` injects (\d+) ", text) == [str(len(SCENARIOS))]


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs" / "decisions"
    listed = (folder / "README.md").read_text(encoding="utf-8")
    decisions = [path.name for path in folder.glob("[0-9]*.md")]
    assert not [name for name in decisions if f"({name})" not in listed]


def test_the_changelog_starts_with_this_version() -> None:
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.findall(r"^## \[?(\d+\.\d+\.\d+)", text, re.MULTILINE)
    assert versions[0] == __version__


def test_where_to_begin_names_files_that_exist() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    section = text.partition("## Where to begin")[2].partition("\n## ")[0]
    named = re.findall(r"`([\w.]+(?:/[\w.]*)+)`", section)
    assert len(named) >= 10
    assert not [path for path in named if not (ROOT / path).exists()]
