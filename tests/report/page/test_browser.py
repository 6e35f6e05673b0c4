"""The page in a real browser: it fits, it answers the pointer, and nothing complains."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pitstop.report.page import render
from tests.report.page.browser import COMMAND, Browser
from tests.report.samples import HOSTILE, whole

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(COMMAND is None, reason="no chromium is installed"),
]
_WIDTH = "document.documentElement.scrollWidth"
_SAID = "[...document.querySelectorAll('output')].map((each) => each.textContent)"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with closing(Browser(tmp_path_factory.mktemp("profile"))) as opened:
        yield opened


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "report.html"
    path.write_text(render(whole("host_oom_killed", HOSTILE)), encoding="utf-8")
    return path


@pytest.mark.parametrize("width", [360, 412, 768, 1100, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_never_wider_than_its_window(
    browser: Browser, page: Path, width: int, scheme: str
) -> None:
    browser.open(page, width, scheme=scheme)
    assert browser.value(_WIDTH) <= width


def test_the_pointer_shows_values_and_marks(browser: Browser, page: Path) -> None:
    browser.open(page, 1100, 4000)
    assert set(browser.value(_SAID)) == {""}
    place = "document.querySelector('.plot svg').getBoundingClientRect()"
    middle = browser.value(
        f"(() => {{ const b = {place}; return [b.x + b.width / 2, b.y + 5] }})()"
    )
    browser.move_to(*middle)
    when, loss, memory, *_ = browser.value(_SAID)
    assert when.startswith("30 s (")
    assert loss == "0.00996 · 0.00996"
    assert memory == "2.0 GB"
    assert browser.value("getComputedStyle(document.querySelector('.plot'), '::after').left") != ""


def test_the_arrow_keys_show_values_too(browser: Browser, page: Path) -> None:
    browser.open(page, 1100, 4000)
    key = "new KeyboardEvent('keydown', {key: 'ArrowLeft', bubbles: true})"
    browser.value(f"document.querySelector('.plots').dispatchEvent({key})")
    assert browser.value(_SAID)[0].startswith("59 s (")


def test_dark_is_dark_and_paper_is_not(browser: Browser, page: Path) -> None:
    color = "getComputedStyle(document.body).backgroundColor"
    browser.open(page, 1100, scheme="dark")
    dark = browser.value(color)
    browser.open(page, 1100, scheme="light")
    assert dark != browser.value(color)
    assert len(browser.pages_on_paper()) > 10_000


def test_nothing_complains_and_nothing_of_the_run_is_executed(browser: Browser, page: Path) -> None:
    browser.told.clear()
    browser.open(page, 1100)
    assert browser.value("document.querySelectorAll('img').length") == 0
    complaints = ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening")
    assert not [each for each in browser.told if each.get("method") in complaints]


def test_what_a_page_injects_is_refused(browser: Browser, page: Path) -> None:
    browser.open(page, 1100)
    inject = (
        "(() => { const s = document.createElement('script'); s.textContent = 'window.bad = 1';"
        " document.body.append(s); return window.bad })()"
    )
    assert browser.value(inject) is None
