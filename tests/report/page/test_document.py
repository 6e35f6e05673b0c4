"""The whole page: one file, readable without anything else, whatever a run printed."""

from __future__ import annotations

import base64
import hashlib
import re

import pytest

from pitstop.diagnosis import CAUSES, CauseId, Diagnosis
from pitstop.report import WhyReport
from pitstop.report.page import render
from pitstop.report.page.document import attempts_section
from pitstop.report.why import AttemptProgress
from tests.report.page.parsed import Page
from tests.report.samples import HOSTILE, MARKUP, REPORT, RUNNING, whole


@pytest.mark.parametrize("cause", CAUSES)
def test_a_page_for_every_cause(cause: CauseId) -> None:
    text = render(whole(cause))
    page = Page(text)
    assert not page.open
    assert text.startswith('<!doctype html>\n<html lang="en">')
    assert page.text.index("The disk is full") < page.text.index("Free space (df -h)")
    titles = ["What to do", "What led to this", "Evidence", "Could not be observed"]
    titles += ["Also found", "How it went", "All attempts"]
    assert [text for parent, text in page.texts if parent == "h2"] == titles
    assert cause in page.text
    assert "95% sure" in page.text
    assert MARKUP in page.text


def test_it_asks_for_nothing_else() -> None:
    page = Page(render(whole("disk_full")))
    asking = {"src", "href", "srcset", "action", "data", "poster", "background", "xlink:href"}
    assert not [name for name, _ in page.attributes if name in asking]
    assert not {"link", "img", "iframe", "object", "embed", "base"} & set(page.tags)
    assert not re.search(r"url\(|@import|https?:", page.text_of("style") + page.text_of("script"))


def test_what_a_run_printed_stays_text() -> None:
    harmless, hostile = Page(render(whole("disk_full"))), Page(render(whole("disk_full", HOSTILE)))
    assert hostile.tags == harmless.tags
    assert not [name for name, _ in hostile.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in hostile.text
    assert not set("\x00\x1b") & set(hostile.text)


def test_only_its_own_script_may_run() -> None:
    text = render(whole("disk_full"))
    [script] = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"|$', text)[:1]
    assert "default-src 'none'" in policy
    assert f"script-src 'sha256-{digest}'" in policy


def test_it_is_small_however_much_a_run_says() -> None:
    assert len(render(whole("disk_full", "long " * 200_000)).encode()) < 1_000_000


def test_a_run_that_goes_on_and_one_without_records() -> None:
    assert "Nothing has ended yet" in Page(render(RUNNING)).text
    text = Page(render(REPORT)).text
    assert "Free space" in text
    assert "How it went" not in text


def test_a_log_file() -> None:
    page = Page(render(WhyReport("train.log", Diagnosis(0, "unknown", None))))
    assert page.text_of("title") == "train.log: unknown"
    assert "attempt" not in page.text_of("strong")


def _attempts(count: int) -> list[AttemptProgress]:
    return [
        AttemptProgress(i + 1, "failed", "disk_full", 0.0, 90.0, 10 * i, 10 * i + 20, None)
        for i in range(count)
    ]


def test_a_bar_for_each_over_the_steps_of_the_run() -> None:
    section = attempts_section(_attempts(3))
    assert section is not None
    bars = [each.get("style") for each in section.iter("i")]
    assert bars == [
        "left:0.00%;width:50.00%",
        "left:25.00%;width:50.00%",
        "left:50.00%;width:50.00%",
    ]
    text = "".join(section.itertext())
    assert "step 20 to 40, nothing saved" in text
    assert "The last 3 attempts ended with the same cause, disk_full." in text


def test_one_attempt_has_nothing_beside_it() -> None:
    assert attempts_section(_attempts(1)) is None


def test_many_attempts_are_cut_short() -> None:
    section = attempts_section(_attempts(45))
    assert section is not None
    assert len(list(section.iter("tr"))) == 30
    assert "15 older ones are not shown." in "".join(section.itertext())
