"""What the page of one run shows, as sections in the look of the report."""

import time
from collections.abc import Mapping, Sequence
from xml.etree.ElementTree import Element

from pitstop import report
from pitstop.diagnosis.load import read_tail
from pitstop.diagnosis.phrases import size
from pitstop.durations import duration
from pitstop.report.page import document
from pitstop.report.page.document import attempts_section
from pitstop.report.page.element import Child, element
from pitstop.report.page.timeline_section import timeline_section
from pitstop.report.timeline import clock
from pitstop.store.catalog import CheckpointEntry
from pitstop.store.retention import last_policy, why_kept
from pitstop.supervisor.status import Status
from pitstop.supervisor.status_rows import total_steps
from pitstop.watch.followed_run import FollowedRun

_LOG_LINES = 60
_LOG_CHARACTERS = 400
_MOST_LISTED = 20


def now(run: FollowedRun) -> Element:
    status = run.status()
    rows = (element("div", element("dt", name), element("dd", text)) for name, text in run.rows())
    return element(
        "header",
        element(
            "p",
            element("strong", f"{run.folder.path}, attempt {run.attempt}"),
            element("span", status.state, class_=f"pill {tone(status.state)}"),
            class_="where",
        ),
        progress_bar(status),
        element("dl", *rows, class_="now-rows"),
        class_=tone(status.state),
        data_state=status.state,
    )


def tone(state: str) -> str:
    known = {"starting": "running", "stopping": "stopped", "suspended": "stopped"}
    return known.get(state, state)


def progress_bar(status: Status) -> Element | None:
    total = total_steps(status)
    if not total or status.step is None:
        return None
    share = min(1.0, status.step / total)
    bar = element("i", class_=tone(status.state), style=f"left:0;width:{100 * share:.2f}%")
    text = f"{share:.0%} of {total:,} steps"
    return element("div", bar, class_="bar", role="img", aria_label=text, title=text)


def why(run: FollowedRun) -> Element | None:
    if run.is_live or not run.attempt:
        return None
    found = report.why(run.folder.path, live=False)
    return element("div", document.header(found), document.columns(found.last))


def curves(run: FollowedRun) -> Element | None:
    timeline = run.timeline()
    return timeline_section(timeline) if timeline else None


def attempts(run: FollowedRun) -> Element | None:
    if run.attempt < 2:
        return None
    found = report.why(run.folder.path, live=run.is_live)
    return attempts_section(found.attempts)


def checkpoints(run: FollowedRun) -> Element | None:
    manifests = [each.manifest for each in run.checkpoints if each.manifest]
    if not manifests:
        return None
    kept = why_kept(manifests, last_policy(run.folder))
    names = ("step", "epoch", "written", "size", "kept because it is")
    heads = element("tr", *(element("th", each, scope="col") for each in names))
    rows = [_checkpoint(each, kept) for each in run.checkpoints[:_MOST_LISTED]]
    left_out = len(run.checkpoints) - _MOST_LISTED
    return element(
        "section",
        element("h2", f"Checkpoints ({len(run.checkpoints)})"),
        element("table", element("thead", heads), element("tbody", *rows), class_="rows"),
        element("p", f"{left_out} older ones are not shown.") if left_out > 0 else None,
        class_="wide",
    )


def output(run: FollowedRun) -> Element | None:
    text = read_tail(run.folder.output_log(run.attempt))
    lines = [each.rstrip()[:_LOG_CHARACTERS] for each in text.splitlines() if each.strip()]
    return document.output(lines[-_LOG_LINES:], is_open=True)


def _checkpoint(entry: CheckpointEntry, kept: Mapping[int, Sequence[str]]) -> Element:
    manifest = entry.manifest
    if manifest is None:
        return element("tr", element("td", entry.path.name), element("td", entry.problem))
    info = manifest.info
    reasons = kept.get(manifest.sequence, ()) or ("not kept: removed next",)
    named = [f"named {info.name}"] if info.name else []
    because = ", ".join([*named, *(each for each in reasons if each != "named")])
    written = duration(max(0.0, time.time() - info.created_seconds))
    cells: list[Child] = [f"{info.step:,}", str(info.epoch + 1), f"{written} ago"]
    cells += [size(sum(each.size_bytes for each in manifest.files.values())), because]
    titles = ["", "", clock(info.created_seconds), "", f"written for: {info.reason}"]
    labels = ("step ", "epoch ", "", "", "kept: ")
    found = zip(cells, titles, labels, strict=True)
    return element(
        "tr", *(element("td", cell, title=title, data_label=label) for cell, title, label in found)
    )
