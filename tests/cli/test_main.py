"""Exit codes and error lines."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from pitstop.cli.commands import COMMANDS, exit_code_of
from pitstop.cli.main import main
from pitstop.errors import (
    CommandNotExecutable,
    CommandNotFound,
    EnvironmentFault,
    InternalFault,
    PitstopError,
    RunNotFound,
)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RunNotFound("x"), 2),
        (CommandNotFound("x"), 127),
        (CommandNotExecutable("x"), 126),
        (EnvironmentFault("x"), 1),
        (InternalFault("x"), 1),
    ],
)
def test_exit_codes(error: PitstopError, code: int) -> None:
    assert exit_code_of(error) == code


def _main(*arguments: str) -> int:
    with pytest.raises(SystemExit) as exit_:
        main(arguments)
    return int(exit_.value.code or 0)


def test_errors_are_one_line_with_the_remedy(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _main("status", str(tmp_path / "absent")) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("pitstop: There is no run at ")
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("words", [("why",), ("status",), ("checkpoints",)])
def test_the_folder_of_another_user_that_is_closed_is_an_error_of_one_line(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    def closed(path: Path, **_: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(Path, "stat", closed)
    monkeypatch.setattr("pitstop.store.run_folder.read_regular", closed)
    assert _main(*words, str(tmp_path / "of_others")) in (1, 2)
    captured = capsys.readouterr()
    assert "this user has no permission" in captured.err
    assert captured.err.count("\n") == 1


@pytest.mark.parametrize("words", [("run", "--run-dir", "", "--", "true"), ("why", "")])
def test_a_variable_of_the_shell_that_is_not_set_is_no_folder(
    words: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert _main(*words) == 2
    assert "check that the shell variable is set." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_wrong_usage_is_explained(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main("run", "--grace", "soon", "--", "true") == 2
    assert "examples: 30s" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert _main(name, "--help") == 0
    shown = capsys.readouterr().out
    assert len(shown) > 100
    assert "\\b" not in shown  # the mark that click removes from a text with lines of its own


def test_the_list_of_commands_cuts_no_sentence(capsys: pytest.CaptureFixture[str]) -> None:
    assert _main("--help") == 0
    assert "..." not in capsys.readouterr().out.partition("Commands:")[2]


@pytest.mark.parametrize("name", ["run", "drill", "compare"])
def test_each_exit_code_has_a_line_of_its_own(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    _main(name, "--help")
    lines = capsys.readouterr().out.partition("Exit codes:\n")[2].splitlines()
    assert {"0", "1", "2"} <= {line.split()[0] for line in lines}
