"""Where in a training a fault is to happen, and the wait for whoever strikes from outside.

`FAULT_AT` names the place: import, trace, batch:N, test:N, epoch:N, save, end.  The files `ready`
and `go` in the working directory are how the bench and the script meet.
"""

import os
import time
from pathlib import Path

AT = os.environ.get("FAULT_AT", "")
READY = Path("ready")
GO = Path("go")
_PATIENCE_SECONDS = 40.0

_happened = []


def is_here(place):
    """Whether the fault belongs here, and has not happened."""
    if place != AT or _happened:
        return False
    _happened.append(place)
    return True


def wait_for_strike(pid=None):
    """Tells that a process is where it is to be struck, and waits until that was done."""
    partial = Path(f"ready.{os.getpid()}")
    partial.write_text(str(pid or os.getpid()))
    partial.rename(READY)
    give_up_at = time.monotonic() + _PATIENCE_SECONDS
    while not GO.exists() and time.monotonic() < give_up_at:
        time.sleep(0.01)
