"""Interrupts a script with a loop of its own, each fault once.

FAULTS="kill@7 stop@12" after these steps; FAULTS_DONE names a folder that gets a folder for each
that has been.  No file is written: a file that a script goes on with makes a resume inexact.
"""

import os
import signal
from pathlib import Path

_SIGNALS = {"kill": signal.SIGKILL, "stop": signal.SIGTERM}


def interrupt(step):
    """Does what is due after this step."""
    for fault in os.environ.get("FAULTS", "").split():
        action, _, at = fault.partition("@")
        done = Path(os.environ["FAULTS_DONE"]) / fault
        if int(at) == step and not done.exists():
            done.mkdir(parents=True)
            os.kill(os.getpid(), _SIGNALS[action])
