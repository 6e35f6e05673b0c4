"""Starts all tasks of a cluster as its processes: the form, and the last step.

Those of `v1_loop.py`; for the form "monitored", those of `monitored_session.py`, the worker first;
for "synchronous monitored" with steps that need the gradients of both.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

form, last_step = sys.argv[1:]
monitored = form.endswith("monitored")
script = "monitored_session.py" if monitored else "v1_loop.py"
given = ("saved", last_step) if monitored else ("saved", last_step, form)
more = ("synchronous",) if form.startswith("synchronous m") else ()
words = (sys.executable, Path(__file__).with_name(script), *given)
server = subprocess.Popen([*words, "ps", "0", *more], stdout=subprocess.DEVNULL)
with Path("worker.log").open("wb") as log:
    worker = subprocess.Popen([*words, "worker", "1", *more], stdout=log)
while monitored and b"opens" not in Path("worker.log").read_bytes():
    time.sleep(0.1)
code = subprocess.call([*words, "worker", "0", *more])
if monitored:
    worker.wait()
server.kill()
worker.kill()
sys.exit(code)
