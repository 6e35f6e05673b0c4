"""Starts all tasks of a cluster as its processes: the form, and the last step.

Those of `v1_loop.py`; for the form "monitored", those of `monitored_session.py`, the worker first.
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

form, last_step = sys.argv[1:]
script = "monitored_session.py" if form == "monitored" else "v1_loop.py"
given = ("saved", last_step) if form == "monitored" else ("saved", last_step, form)
words = (sys.executable, Path(__file__).with_name(script), *given)
server = subprocess.Popen([*words, "ps", "0"], stdout=subprocess.DEVNULL)
with Path("worker.log").open("wb") as log:
    worker = subprocess.Popen([*words, "worker", "1"], stdout=log)
while form == "monitored" and b"opens" not in Path("worker.log").read_bytes():
    time.sleep(0.1)
code = subprocess.call([*words, "worker", "0"])
if form == "monitored":
    worker.wait()
server.kill()
worker.kill()
sys.exit(code)
