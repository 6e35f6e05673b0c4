"""What the terminal shows, at any size."""

from __future__ import annotations

import io
from contextlib import closing
from pathlib import Path

import pytest
from rich.console import Console

from pitstop.watch.terminal_view import TerminalView, watch
from tests.watch.made_run import held, make_run

_HOSTILE = "\x1b]0;title\x07\x1b[31m[bold]x[/bold]"


def screen(view: TerminalView, width: int, height: int) -> list[str]:
    console = Console(file=io.StringIO(), width=width, height=height, highlight=False)
    with console.capture() as shown:
        console.print(view.draw(console))
    return shown.get().rstrip("\n").split("\n")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for number in range(30):
        folder = make_run(tmp_path / f"run-{number:02}", steps=20 + number)
        folder.output_log(1).write_text(f"Epoch 1\n{_HOSTILE}\n", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("width", "height"), [(80, 24), (40, 10), (200, 60), (20, 5)])
def test_it_fits_any_window(root: Path, width: int, height: int) -> None:
    view = TerminalView(root)
    for _ in range(2):
        lines = screen(view, width, height)
        assert len(lines) <= height
        assert max(map(len, lines)) <= width
        assert "\x1b" not in "".join(lines)
        view.press("\n")


def test_keys_choose_show_and_leave(root: Path) -> None:
    view = TerminalView(root)
    assert "> run-00" in " ".join("\n".join(screen(view, 80, 24)).split())
    for _ in range(25):
        assert view.press("j")
    assert "> run-25" in " ".join("\n".join(screen(view, 80, 24)).split())
    assert view.press("\n")
    text = "\n".join(screen(view, 80, 24))
    assert text.startswith("failed, attempt 1, ")
    assert "why: " in text
    assert "[bold]x[/bold]" in text
    assert view.press("q")
    assert not view.press("q")


def test_a_run_that_nobody_supervises_answers_a_key(root: Path) -> None:
    with closing(held(make_run(root / "held", events=()))):
        view = TerminalView(root / "held")
        assert "s stop" in "\n".join(screen(view, 80, 24))
        view._ask("s")
        assert "is not running" in "\n".join(screen(view, 120, 24))


def test_where_nothing_is_it_says_so(tmp_path: Path) -> None:
    assert "There is no run under" in screen(TerminalView(tmp_path), 200, 24)[0]


def test_in_a_pipe_no_line_ends_in_blanks(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    watch(root)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 1
    assert not [line for line in lines if line != line.rstrip()]
