"""The whole page.  Pure, but for reading the style and the script that come with it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib import resources
from xml.etree.ElementTree import Element

from pitstop.diagnosis import Diagnosis
from pitstop.durations import duration
from pitstop.report.page import findings
from pitstop.report.page.attempts import attempts_section
from pitstop.report.page.element import Child, element, serialize, text_with_code
from pitstop.report.page.timeline_section import timeline_section
from pitstop.report.timeline import clock
from pitstop.report.why import WhyReport

_STYLE, _SCRIPT = "style.css", "hover.js"


def render(report: WhyReport) -> str:
    """The report as one HTML document, whose only script is the one that comes with it."""
    return "<!doctype html>\n" + serialize(
        element("html", _head(report), element("body", _main(report)), lang="en")
    )


def _head(report: WhyReport) -> Element:
    finding = report.last.finding
    title = f"{report.name}: {finding.cause if finding else report.last.state}"
    return element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", http_equiv="Content-Security-Policy", content=_policy()),
        element("meta", name="color-scheme", content="light dark"),
        element("title", title),
        element("style", _shipped(_STYLE)),
    )


def _policy() -> str:
    # Should a text of the run ever get out of its place, nothing in it is executed or loaded.
    digest = base64.b64encode(hashlib.sha256(_shipped(_SCRIPT).encode()).digest()).decode()
    return f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"


@cache
def _shipped(name: str) -> str:
    return (resources.files("pitstop.report.page") / name).read_text(encoding="utf-8")


def _main(report: WhyReport) -> Element:
    diagnosis = report.last
    timeline = report.timeline
    return element(
        "main",
        _header(report),
        *_columns(diagnosis),
        timeline_section(timeline) if timeline else None,
        attempts_section(report.attempts, report.losses),
        _output(report),
        _facts(report),
        element("script", _shipped(_SCRIPT)) if timeline else None,
    )


def _header(report: WhyReport) -> Element:
    diagnosis, finding = report.last, report.last.finding
    attempt = f", attempt {diagnosis.attempt}" if diagnosis.attempt else ""
    text = finding.summary if finding else "Nothing has ended yet."
    return element(
        "header",
        element(
            "p",
            element("strong", report.name + attempt),
            element("span", diagnosis.state, class_=f"pill {diagnosis.tone}"),
            class_="where",
        ),
        element("h1", *text_with_code(text)),
        element("p", *_cause(report), class_="cause"),
        class_=diagnosis.tone,
    )


def _cause(report: WhyReport) -> list[Child]:
    diagnosis, timeline = report.last, report.timeline
    parts: list[Child] = []
    if diagnosis.finding is not None:
        sure = f"{diagnosis.finding.confidence:.0%} sure"
        parts += [element("code", diagnosis.finding.cause), element("span", sure)]
    if timeline is not None:
        ended = f"{clock(timeline.ended_seconds)}, after {duration(timeline.seconds)}"
        parts.append(element("span", ended))
    if diagnosis.step is not None:
        saved = diagnosis.checkpoint_step
        kept = "nothing saved" if saved is None else f"saved up to step {saved:,}"
        parts.append(element("span", f"step {diagnosis.step:,}, {kept}"))
    return parts


def _columns(diagnosis: Diagnosis) -> tuple[Child, ...]:
    finding = diagnosis.finding
    if finding is None:
        return ()
    left = (findings.remedy(finding), findings.chain(diagnosis.chain))
    right = (
        findings.evidence(finding.evidence),
        findings.missing(finding.missing),
        findings.others(diagnosis),
    )
    return (element("div", element("div", *left), element("div", *right), class_="columns"),)


def _output(report: WhyReport) -> Element | None:
    if not report.output:
        return None
    return element(
        "section",
        element(
            "details",
            element("summary", "The last lines of the output"),
            element("pre", "\n".join(report.output)),
        ),
        class_="wide",
    )


def _facts(report: WhyReport) -> Element:
    facts = (part for name, value in report.facts for part in _fact(name, value))
    looked = ", ".join(report.last.looked_at) or "nothing"
    return element(
        "footer",
        element("dl", *facts, *_fact("looked at", looked), *_cause_page(report), class_="facts"),
        _damage(report.damaged_lines),
    )


def _cause_page(report: WhyReport) -> tuple[Element, ...]:
    finding = report.last.finding
    return _fact("this cause", f"pitstop explain {finding.cause}") if finding else ()


def _fact(name: str, value: str) -> tuple[Element, Element]:
    return element("dt", name), element("dd", value)


def _damage(lines: int) -> Element | None:
    return element("p", f"{lines} damaged journal lines were skipped.") if lines else None
