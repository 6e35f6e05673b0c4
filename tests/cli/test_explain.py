"""The pages of causes in a terminal, and what a shell completes."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.markdown import Markdown

from pitstop.cli.commands import cli
from pitstop.cli.grouped_command import topics
from pitstop.cli.run import run
from pitstop.diagnosis import CAUSES
from pitstop.diagnosis.wording import section
from tests.source_tree import ROOT


@pytest.mark.parametrize("cause", CAUSES)
def test_each_cause_has_a_section_that_begins_with_it(cause: str) -> None:
    found = section(cause)
    assert found is not None
    assert found.startswith(f"### {cause}\n")
    assert found.count("\n### ") == 0
    assert "**Do:**" in found


def test_a_section_is_plain_in_a_pipe() -> None:
    shown = CliRunner().invoke(cli, ["explain", "dataset_exhausted"])
    assert shown.exit_code == 0
    assert shown.output.startswith("### dataset_exhausted\n")
    assert "](#" not in shown.output


def test_a_terminal_gets_it_formatted() -> None:
    assert Markdown(section("disk_full") or "").parsed


def test_an_unknown_cause_is_refused_with_the_known_ones() -> None:
    shown = CliRunner().invoke(cli, ["explain", "bad_luck"])
    assert shown.exit_code == 2
    assert "disk_full" in shown.output


def test_every_option_of_run_stands_under_one_heading() -> None:
    listed = [f"--{name}" for texts in topics().values() for name in texts]
    offered = [max(each.opts, key=len) for each in run.params if not getattr(each, "hidden", False)]
    assert sorted(listed) == sorted({*offered, "--help"} - {"command"})


def test_the_help_shows_the_common_options_only() -> None:
    short = CliRunner().invoke(cli, ["run", "--help"]).output
    whole = CliRunner().invoke(cli, ["run", "--help-all"]).output
    assert "--max-time" in short
    assert "--kill-after" not in short
    assert all(f"--{name}" in whole for texts in topics().values() for name in texts)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_a_shell_is_told_how_to_complete(shell: str) -> None:
    shown = CliRunner().invoke(cli, ["completion", shell])
    assert f"_PITSTOP_COMPLETE={shell}_complete" in shown.output


def test_names_of_runs_are_completed(tmp_path: Path) -> None:
    for name in ("cnn", "cnn-2", "mlp"):
        folder = tmp_path / "runs" / name
        folder.mkdir(parents=True)
        (folder / "run.json").write_text("{}")
    words = {
        "_PITSTOP_COMPLETE": "bash_complete",
        "COMP_WORDS": "pitstop why runs/c",
        "COMP_CWORD": "2",
    }
    call = "from pitstop.cli.main import main; main([])"
    completed = subprocess.run(
        [sys.executable, "-c", call],
        cwd=tmp_path,
        env=words,
        capture_output=True,
        text=True,
        check=False,
    )
    assert completed.stdout.split() == ["plain,runs/cnn", "plain,runs/cnn-2"]


@pytest.mark.torture
def test_a_wheel_has_the_page(tmp_path: Path) -> None:
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", "-q"]
    subprocess.run([*pip, "-w", str(tmp_path), str(ROOT)], check=True)
    [wheel] = tmp_path.glob("*.whl")
    assert "pitstop/diagnosis/causes.md" in zipfile.ZipFile(wheel).namelist()
