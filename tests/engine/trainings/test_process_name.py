"""Which process of the script this is."""

from __future__ import annotations

import subprocess
import sys

from pitstop.engine.trainings.present_identity import process_name

# In a process of its own: what `multiprocessing` starts beside its children outlives a test.
_IN_A_CHILD = """
import multiprocessing
from pitstop.engine.trainings.present_identity import process_name

for _ in range(2):
    process = multiprocessing.get_context("fork").Process(target=lambda: print(process_name()))
    process.start()
    process.join()
"""


def test_the_scripts_own_process_has_no_name() -> None:
    assert process_name() == ""


def test_a_child_has_the_name_that_it_gets_in_every_attempt() -> None:
    words = [sys.executable, "-c", _IN_A_CHILD]
    printed = subprocess.run(words, capture_output=True, check=True, timeout=60).stdout
    assert printed.split() == [b"ForkProcess-1", b"ForkProcess-2"]
