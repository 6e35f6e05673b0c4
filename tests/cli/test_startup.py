"""Starting the command line stays light: no threads, no frameworks, no NumPy."""

from __future__ import annotations

import subprocess
import sys

HEAVY = ("numpy", "tensorflow", "keras", "h5py")


def test_importing_the_commands_loads_nothing_heavy() -> None:
    # NumPy starts a pool of threads that block no signals; the supervisor, which
    # waits for signals in a thread of its own, is better off without them.
    code = (
        f"import sys, pitstop.cli.main\nprint([name for name in {HEAVY!r} if name in sys.modules])"
    )
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"
