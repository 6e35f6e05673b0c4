"""Interrupts a script with a loop of its own, each fault once.

FAULTS="kill@7 stop@12" after these steps; FAULTS_DONE names the file that
remembers which have been.
"""

import os
import signal
from pathlib import Path

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGTERM}


def interrupt(step):
    """Does what is due after this step."""
    for fault in os.environ.get("FAULTS", "").split():
        action, _, at = fault.partition("@")
        done = Path(os.environ["FAULTS_DONE"])
        if int(at) == step and fault not in _words(done):
            done.write_text(" ".join([*_words(done), fault]))
            os.kill(os.getpid(), _SIGNALS[action])


def _words(path):
    return path.read_text().split() if path.exists() else []
