"""What a diagnosis says, as the sections of a page.  Pure."""

from __future__ import annotations

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from pitstop.diagnosis import ChainLink, Diagnosis, EvidenceItem, Finding
from pitstop.report.page.element import Child, element, items, section, text_with_code
from pitstop.report.timeline import clock


def remedy(finding: Finding) -> Element | None:
    return section("What to do", items("ol", finding.advice), class_="do")


def chain(links: Sequence[ChainLink]) -> Element | None:
    steps = (element("li", *_link(link)) for link in links)
    return section("How it came to this", element("ol", *steps, class_="chain"))


def evidence(found: Sequence[EvidenceItem]) -> Element | None:
    rows = (part for item in found for part in _evidence_row(item))
    return section("Evidence", element("dl", *rows, class_="evidence"))


def missing(phrases: Sequence[str]) -> Element | None:
    return section("Could not be observed", items("ul", phrases))


def others(diagnosis: Diagnosis) -> Element | None:
    entries = (
        element("li", element("code", other.cause), " ", *text_with_code(other.summary))
        for other in diagnosis.others
    )
    return section("Also found", element("ul", *entries))


def _link(link: ChainLink) -> tuple[Child, ...]:
    when = f", {clock(link.time_seconds)}" if link.time_seconds is not None else ""
    source = element("span", f"{link.source}{when}", class_="source")
    return (*text_with_code(link.text), " ", source)


def _evidence_row(item: EvidenceItem) -> tuple[Element, Element]:
    return element("dt", item.source), element("dd", *text_with_code(item.text))
