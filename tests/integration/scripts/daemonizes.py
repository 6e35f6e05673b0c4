"""Leaves its parent by a double fork and trains in a session of its own.

The grandchild writes its process id to the file argv[1], and creates
argv[1] + ".done" after the training.
"""

import os
import sys
from pathlib import Path


def daemonize():
    if os.fork():
        os._exit(0)
    os.setsid()
    if os.fork():
        os._exit(0)


daemonize()
pid_file = Path(sys.argv[1])
pid_file.write_text(str(os.getpid()))

from tiny import fit

fit()
pid_file.with_name(pid_file.name + ".done").touch()
