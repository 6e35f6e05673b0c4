"""A script that ends without the last garbage collection still writes out its files."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.source_tree import SOURCE

_SCRIPT = """
import atexit, gc, io, sys
from pitstop.engine.session import witness

class Node:
    def __del__(self):
        print("collected")

class Broken(io.RawIOBase):
    def flush(self):
        raise RuntimeError("not mine")

node = Node()
node.itself = node
node.file = open("log.txt", "w")
node.file.write("the last line")
node.broken, node.closed = Broken(), open("other.txt", "w")
node.closed.close()
if sys.argv[1] == "left out":
    atexit.register(witness.leave_out_last_collection)
plain = open("plain.txt", "w")
plain.write("in no cycle")
del node
print("end")
"""


@pytest.mark.parametrize(
    ("how", "shown", "logged"),
    # Python itself loses what the file in a cycle has not written out.
    [("left out", "end\n", "the last line"), ("as ever", "end\ncollected\n", "")],
)
def test_files_in_garbage_are_written_out(
    tmp_path: Path, how: str, shown: str, logged: str
) -> None:
    source = str(SOURCE)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _SCRIPT, how],
        cwd=tmp_path,
        env={"PYTHONPATH": source},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    assert done.stdout == shown
    assert (tmp_path / "log.txt").read_text() == logged
    assert (tmp_path / "plain.txt").read_text() == "in no cycle"
