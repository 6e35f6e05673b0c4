"""What a test leaves behind that fails before it has ended all it started."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.integration.supervisor import launch

ROOT = Path(__file__).parents[2]
FAILS = """
from tests.integration.supervisor import launch

def test_that_fails(tmp_path):
    words = ("launch", "--workers", "2", "--restarts", "3", "--", "sleep", "600")
    launch.start(tmp_path, *words)
    launch.until(lambda: sum(each.name() == "sleep" for each in launch.processes_in(tmp_path)) == 2)
    for each in launch.processes_in(tmp_path):
        each.suspend()
    raise AssertionError("all members work")
"""


def test_members_of_a_test_that_fails_are_ended(tmp_path: Path) -> None:
    (tmp_path / "test_fails.py").write_text(FAILS)
    fixtures = ("-p", "tests.integration.conftest", "-p", "no:cacheprovider")
    words = (sys.executable, "-m", "pytest", *fixtures, "--basetemp", tmp_path / "inner")
    failed = subprocess.run(
        [*words, tmp_path / "test_fails.py"],
        cwd=ROOT,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
        check=False,
        capture_output=True,
        timeout=launch.LONGEST_SECONDS,
    )
    assert b"all members work" in failed.stdout
    assert not launch.processes_in(tmp_path / "inner" / "test_that_fails0")
