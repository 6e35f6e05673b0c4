"""Who leaves the script in a thread takes the process with him."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_SCRIPT = """
import threading
from pitstop.engine.leaving import LeavesScript, ending_threads
def train():
    print("trains")
    with ending_threads():
        raise {raised}
{run}
print("saves")
"""


def _ended(raised: str, run: str) -> tuple[int, str]:
    script = _SCRIPT.format(raised=raised, run=run)
    command = [sys.executable, "-c", script]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return done.returncode, done.stdout


def test_in_a_thread_the_process_ends_at_once() -> None:
    run = "each = threading.Thread(target=train); each.start(); each.join()"
    assert _ended("LeavesScript(75)", run) == (75, "trains\n")


def test_in_the_main_thread_the_script_is_left_as_ever() -> None:
    assert _ended("LeavesScript(75)", "try:\n  train()\nfinally:\n  print('ends')") == (
        75,
        "trains\nends\n",
    )


def test_an_exit_of_the_script_itself_ends_its_thread() -> None:
    run = "each = threading.Thread(target=train); each.start(); each.join()"
    assert _ended("SystemExit(3)", run) == (0, "trains\nsaves\n")


def test_what_is_written_is_kept_where_the_process_ends_at_once(tmp_path: Path) -> None:
    run = "kept = open('kept', 'w'); kept.write('kept')\n"
    run += "each = threading.Thread(target=train); each.start(); each.join()"
    script = _SCRIPT.format(raised="LeavesScript(75)", run=run)
    subprocess.run([sys.executable, "-c", script], check=False, cwd=tmp_path)
    assert (tmp_path / "kept").read_text() == "kept"
