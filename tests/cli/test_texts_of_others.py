"""No view obeys what a script, a checkpoint or a file says: all of them are asked."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

import pytest
from rich.console import Console
from rich.text import Text

from pitstop.cli.echo import tell, tell_json
from pitstop.diagnosis.log import lines
from pitstop.plain_text import say
from pitstop.report import markdown, page, terminal
from pitstop.report.files import FORMS
from pitstop.report.terminal import PlainText
from pitstop.supervisor.terminal.screen import Screen
from tests.report.samples import whole
from tests.source_tree import ROOT

_EVIL = "\x1b]0;owned\x07\x1b[2J\x1b[1;1Hall fine\x9b31m\x00\u202e"
_OBEYED = ("\x1b", "\x07", "\x9b", "\x00", "\u202e", "owned", "[2J", "\\u001b")
_REPORT = whole("callback_error", _EVIL)


def _screen() -> str:
    out, into = os.pipe()
    screen = Screen(status_row=False, stderr=into)
    screen.say(_EVIL)
    screen.close()
    os.close(into)
    with os.fdopen(out, encoding="utf-8") as reader:
        return reader.read()


def _terminal() -> str:
    console = Console(file=io.StringIO(), width=80, force_terminal=False)
    with console.capture() as captured:
        terminal.show(_REPORT, console)
        console.print(PlainText(Text(_EVIL)))
    return captured.get()


_VIEWS: dict[str, Callable[[], str | None]] = {
    "terminal": _terminal,
    "json": lambda: FORMS["report.json"](_REPORT),
    "markdown": lambda: markdown.render(_REPORT),
    "html": lambda: page.render(_REPORT),
    "notice": _screen,
    "error, and notice of a companion": lambda: say(_EVIL),
    "what a command gives": lambda: tell(_EVIL),
    "what a command gives as JSON": lambda: tell_json({"reason": [_EVIL], _EVIL: 1}),
    "a log": lambda: lines.clean(_EVIL),
}


@pytest.mark.parametrize("view", _VIEWS)
def test_no_view_obeys(view: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = _VIEWS[view]() or ""
    printed = capsys.readouterr()
    shown = given + printed.out + printed.err
    assert "all fine" in shown
    assert not [each for each in _OBEYED if each in shown]


def test_commands_give_through_one_function() -> None:
    files = (ROOT / "src" / "pitstop" / "cli").glob("*.py")
    direct = [each.name for each in files if "click.echo(" in each.read_text(encoding="utf-8")]
    assert direct == ["echo.py"]
