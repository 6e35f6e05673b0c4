"""`pitstop doctor`."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from pitstop.cli.commands import cli
from pitstop.cli.doctor import describe
from pitstop.doctor.checks import Check


@pytest.fixture
def bare_python(tmp_path: Path) -> str:
    """A Python that has no TensorFlow, and starts at once."""
    script = tmp_path / "python"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -S -E "$@"\n')
    script.chmod(0o755)
    return str(script)


def test_a_python_without_tensorflow_still_gets_stop_and_why(bare_python: str) -> None:
    done = CliRunner().invoke(cli, ["doctor", "--python", bare_python])
    assert done.exit_code == 0, done.output
    assert "less  training" in done.output
    assert "ok    system" in done.output


def test_for_programs(bare_python: str, tmp_path: Path) -> None:
    words = ["doctor", "--json", "--python", bare_python, "--run-dir", str(tmp_path)]
    done = CliRunner().invoke(cli, words)
    found = json.loads(done.output)
    assert found["works"] is True
    assert {"name", "level", "seen", "cost", "remedy"} == set(found["checks"][0])
    assert found["facts"]["folder"] == str(tmp_path)


def test_what_is_lost_stands_below() -> None:
    lines = describe(Check("disk", "less", "nfs", "it is slow", "Use another."))
    assert [line.strip() for line in lines] == [
        "less  disk           nfs",
        "- it is slow",
        "- Use another.",
    ]
