"""The defaults of `pitstop run` in a file of the working folder, and what `--dry-run` says."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from pitstop.cli.commands import call

PITSTOP = "pitstop.toml"
DRY = ("run", "--dry-run")


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _foretold(capsys: pytest.CaptureFixture[str], *options: str) -> str:
    assert not call([*DRY, *options, "--", "true", "some words"])
    assert all("." in each.name for each in Path().iterdir())
    return capsys.readouterr().out


def _of(cause: str, foretold: str) -> str:
    """What is said behind the causes of which this is one."""
    lines = foretold.splitlines()
    return next(after for names, after in pairwise(lines) if cause in names)


def test_nothing_is_altered_or_started_again_by_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    said = _foretold(capsys)
    assert "command:  true 'some words'" in said
    assert "a new one under runs/" in said
    assert "restart from" not in said
    assert "explain, and end" in _of("nan_loss", said)
    assert "use --restarts" in _of("native_crash", said)
    assert "use --restarts" not in _of("user_code_error", said)
    assert "completed_normally" not in said


def test_what_the_file_says_holds_and_the_command_line_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path(PITSTOP).write_text('restarts = 3\non-nan = "rollback"\non-oom = "shrink"\n')
    said = _foretold(capsys)
    assert "pitstop.toml: restarts = 3, on-nan = rollback, on-oom = shrink" in said
    assert "at most 3 times, until it has failed 6 times" in _of("killed_from_outside", said)
    assert "skip the batch" in _of("nan_loss", said)
    assert "in 2, 4, ... 64 parts" in _of("gpu_oom", said)
    assert "if a data worker has died, restart" in _of("hang_or_stall", said)
    said = _foretold(capsys, "--restarts", "0", "--on-nan", "warn")
    assert "restart from" not in said
    assert "explain, and end" in _of("nan_loss", said)
    said = _foretold(capsys, "--on-hang", "restart")
    assert _of("hang_or_stall", said).startswith("  restart from")


def test_a_table_of_pyproject_serves_where_there_is_no_file_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Path("pyproject.toml").write_text("[tool.pitstop]\nrestarts = 2\n")
    assert "pyproject.toml: restarts = 2" in _foretold(capsys)
    Path(PITSTOP).write_text("restarts = 4\n")
    assert "pitstop.toml: restarts = 4" in _foretold(capsys)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("on-nann = 1", "pitstop.toml: no such option: on-nann. Did you mean on-nan?"),
        ("on_hang = 1", "no such option: on_hang. Did you mean on-hang?"),
        ("launcher-pid = 1", "no such option: launcher-pid"),
        ("command = 1", "no such option: command"),
        ("help = true", "no such option: help"),
        ("new = true", "pitstop.toml: new cannot be set in a file. Use the option --new."),
        ('on-nan = "no"', "on-nan = 'no': 'no' is not one of 'warn', 'rollback'."),
        ("keep = 0", "keep = 0: 0 is not in the range x>=1"),
        ('grace = "soon"', "grace = 'soon': 'soon' is not a valid time"),
        ("deterministic = 1", "deterministic = 1: must be true or false"),
        ("restarts = true", "restarts = True is not"),
        ("restarts = [1]", "restarts = [1] is not"),
        ("[restarts]", "restarts = {} is not"),
        ("restarts = ", "pitstop.toml cannot be read"),
    ],
)
def test_what_is_wrong_is_told_by_file_and_key(
    line: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path(PITSTOP).write_text(f"{line}\n")
    assert call([*DRY, "--", "true"]) == 2
    captured = capsys.readouterr()
    assert message in captured.err
    assert captured.out == ""


def test_lists_times_and_flags_become_what_the_command_line_makes_of_them(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ('keep-best = ["val_loss:3", "bleu:max:2"]', "grace = 2.5", "deterministic = true")
    Path(PITSTOP).write_text("\n".join(lines))
    _foretold(capsys)
    from pitstop.cli.run import run

    given = run.make_context("run", ["--grace", "4s", "true"]).params
    assert [each.metric for each in given["keep_best"]] == ["val_loss", "bleu"]
    assert (given["grace"], given["deterministic"]) == (4.0, True)
    assert run.make_context("run", ["true"]).params["grace"] == 2.5
