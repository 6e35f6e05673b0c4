"""Calls that end the process, by whatever name a script has for them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import pitstop

SITE = Path(pitstop.__file__).parent / "inject" / "site"
SCRIPT = """
import os, signal, sys
from os import _exit
from sys import exit
calls = {"_exit": (_exit, 3), "exit": (exit, 3), "abort": (os.abort,)}
from pitstop.engine.session import exit_calls
exit_calls.tell(lambda how, code: print(how, code, flush=True))
call, *arguments = calls[sys.argv[1]]
call(*arguments)
"""


@pytest.mark.parametrize(
    ("name", "told", "code"),
    [("_exit", "os._exit 3", 3), ("exit", "sys.exit 3", 3), ("abort", "os.abort None", -6)],
)
def test_a_name_that_was_bound_before_anybody_listened_is_heard(
    name: str, told: str, code: int
) -> None:
    environment = {**os.environ, "PYTHONPATH": str(SITE), "PITSTOP_SOCKET": "/nowhere/socket"}
    ended = subprocess.run(
        [sys.executable, "-c", SCRIPT, name],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ended.stdout.strip(), ended.returncode) == (told, code), ended.stderr
