"""The whole report.  Pure, except that it reads its style and its script from files."""

from collections.abc import Sequence
from xml.etree.ElementTree import Element

from pitstop.diagnosis import ChainLink, Diagnosis
from pitstop.durations import duration
from pitstop.report.page.element import (
    HOVER,
    STYLE,
    Child,
    document,
    element,
    items,
    section,
    shipped,
    text_with_code,
)
from pitstop.report.page.plot import Scale, axis
from pitstop.report.page.timeline_section import timeline_section
from pitstop.report.timeline import clock
from pitstop.report.why import AttemptProgress, WhyReport, compare

_MOST_LISTED = 30


def attempts_section(attempts: Sequence[AttemptProgress]) -> Element | None:
    if len(attempts) < 2:
        return None
    across = axis(0.0, float(max(each.last_step for each in attempts)))
    rows = (_row(each, across) for each in attempts[-_MOST_LISTED:])
    left_out = len(attempts) - _MOST_LISTED
    return element(
        "section",
        element("h2", "All attempts"),
        items("ul", compare(attempts), class_="compared"),
        element("p", f"{left_out} older ones are not shown.") if left_out > 0 else None,
        element("table", element("tbody", *rows), class_="attempts"),
        class_="wide",
    )


def _row(each: AttemptProgress, across: Scale) -> Element:
    return element(
        "tr",
        element("th", str(each.attempt), scope="row", title=clock(each.started_seconds)),
        element("td", element("span", each.state, class_=f"pill {each.state}")),
        element("td", element("code", each.cause) if each.cause else None),
        element("td", duration(each.seconds), class_="after"),
        element("td", _bar(each, across), class_="steps"),
    )


def _bar(each: AttemptProgress, across: Scale) -> Element:
    start, end = across.place(each.first_step), across.place(each.last_step)
    style = f"left:{100 * start:.2f}%;width:{100 * (end - start):.2f}%"
    bar = element("div", element("i", class_=each.state, style=style), class_="bar")
    saved = "nothing saved" if each.checkpoint_step is None else f"saved {each.checkpoint_step:,}"
    told = f"step {each.first_step:,} to {each.last_step:,}, {saved}"
    return element("div", bar, element("span", told))


def render(report: WhyReport) -> str:
    finding = report.last.finding
    title = f"{report.name}: {finding.cause if finding else report.last.state}"
    scripts = (shipped(HOVER),) if report.timeline else ()
    main = element(
        "main",
        header(report),
        columns(report.last),
        timeline_section(report.timeline) if report.timeline else None,
        attempts_section(report.attempts),
        output(report.output),
        _facts(report),
    )
    return document(title, main, shipped(STYLE), scripts)


def header(report: WhyReport) -> Element:
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


def columns(diagnosis: Diagnosis) -> Element | None:
    finding = diagnosis.finding
    if finding is None:
        return None
    chain = (element("li", *_link(link)) for link in diagnosis.chain)
    seen = (
        part for item in finding.evidence for part in _fact(item.source, *text_with_code(item.text))
    )
    others = (
        element("li", element("code", other.cause), " ", *text_with_code(other.summary))
        for other in diagnosis.others
    )
    left = (
        section("What to do", items("ol", finding.advice), class_="do"),
        section("What led to this", element("ol", *chain, class_="chain")),
    )
    right = (
        section("Evidence", element("dl", *seen, class_="evidence")),
        section("Could not be observed", items("ul", finding.missing)),
        section("Also found", element("ul", *others)),
    )
    return element("div", element("div", *left), element("div", *right), class_="columns")


def _link(link: ChainLink) -> tuple[Child, ...]:
    when = f", {clock(link.time_seconds)}" if link.time_seconds is not None else ""
    source = element("span", f"{link.source}{when}", class_="source")
    return (*text_with_code(link.text), " ", source)


def output(lines: Sequence[str], *, is_open: bool = False) -> Element | None:
    if not lines:
        return None
    summary = element("summary", "The last lines of the output")
    opened = {"open": ""} if is_open else {}
    details = element("details", summary, element("pre", "\n".join(lines)), **opened)
    return element("section", details, class_="wide")


def _facts(report: WhyReport) -> Element:
    finding, lines = report.last.finding, report.damaged_lines
    facts = [*report.facts, ("looked at", ", ".join(report.last.looked_at) or "nothing")]
    facts += [("this cause", f"pitstop explain {finding.cause}")] if finding else []
    rows = (part for name, value in facts for part in _fact(name, value))
    damage = element("p", f"{lines} damaged journal lines were skipped.") if lines else None
    return element("footer", element("dl", *rows, class_="facts"), damage)


def _fact(name: str, *value: Child) -> tuple[Element, Element]:
    return element("dt", name), element("dd", *value)
