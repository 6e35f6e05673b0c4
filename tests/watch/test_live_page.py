"""The page in a real browser: it fits, and nothing of a run is executed."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from pitstop.watch.server import PageServer
from tests.report.page.browser import COMMAND, Browser
from tests.watch.made_run import held, make_run

pytestmark = [
    pytest.mark.torture,
    pytest.mark.skipif(COMMAND is None, reason="no chromium is installed"),
]
_WIDTH = "document.documentElement.scrollWidth"
_HOSTILE = "<img src=x onerror=document.title=1>"


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with closing(Browser(tmp_path_factory.mktemp("profile"))) as opened:
        yield opened


@pytest.fixture
def link(tmp_path: Path) -> Iterator[str]:
    for number in range(5):
        make_run(tmp_path / f"run-{number}-{'x' * 40 * number}", steps=1000)
    folder = make_run(tmp_path / _HOSTILE, events=())
    folder.output_log(1).write_text(f"{_HOSTILE}\n{'y' * 500}\n", encoding="utf-8")
    server = PageServer(tmp_path, "127.0.0.1", 0, frozenset())
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with closing(held(folder)):
        yield server.link
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("width", [360, 412, 768, 1100, 1920])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_is_never_wider_than_its_window(
    browser: Browser, link: str, width: int, scheme: str
) -> None:
    for query in ("", "&run=run-1-" + "x" * 40, f"&run={_HOSTILE}"):
        browser.open(link + query, width, scheme=scheme)
        assert browser.value(_WIDTH) <= width


def test_what_a_run_is_called_is_text(browser: Browser, link: str) -> None:
    browser.told.clear()
    for query in ("", f"&run={_HOSTILE}"):
        browser.open(link + query, 1100)
        assert browser.value("document.querySelectorAll('img').length") == 0
        assert "<img" in browser.value("document.body.textContent")
    complaints = ("Log.entryAdded", "Runtime.exceptionThrown", "Page.javascriptDialogOpening")
    assert not [each for each in browser.told if each.get("method") in complaints]


def test_everything_that_can_be_pressed_has_a_name(browser: Browser, link: str) -> None:
    browser.open(f"{link}&run={_HOSTILE}", 1100)
    names = browser.value(
        "[...document.querySelectorAll('button, a, [role=img], [role=group]')]"
        ".map((each) => each.getAttribute('aria-label') || each.textContent)"
    )
    assert len(names) > 6
    assert all(names)
    assert browser.value("document.querySelector('[role=status]') !== null")
