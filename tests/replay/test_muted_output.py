"""What is said between begin and end is not heard, by whatever way."""

from __future__ import annotations

import os
import subprocess
import sys

from pitstop.replay.muted_output import MutedOutput

_SCRIPT = """
import os, sys
from pitstop.replay.muted_output import MutedOutput
print("before")
muted = MutedOutput()
muted.begin()
print("inside"); print("inside", file=sys.stderr); os.write(1, b"inside")
{then}
"""


def run(then: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    words = [sys.executable, "-c", _SCRIPT.format(then=then)]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


def test_what_is_said_before_and_after_is_heard() -> None:
    ended = run("muted.end(); muted.end(); print('after')")
    assert (ended.stdout, ended.stderr) == ("before\nafter\n", "")


def test_an_exception_is_shown() -> None:
    ended = run("raise ValueError('no')")
    assert ended.returncode == 1
    assert ended.stdout == "before\n"
    assert "ValueError: no" in ended.stderr
    assert "inside" not in ended.stderr.splitlines()


def test_streams_that_are_closed() -> None:
    assert run("os.close(2); muted.end(); sys.stdout.close()").returncode == 0


def test_the_excepthook_is_given_back() -> None:
    before = sys.excepthook
    muted = MutedOutput()
    muted.begin()
    assert sys.excepthook != before
    muted.end()
    assert sys.excepthook == before
