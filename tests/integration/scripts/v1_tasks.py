"""Starts all tasks of the cluster of `v1_loop.py` as its processes: the form, and the last step."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

words = (sys.executable, Path(__file__).with_name("v1_loop.py"), "saved", sys.argv[2], sys.argv[1])
server = subprocess.Popen([*words, "ps", "0"], stdout=subprocess.DEVNULL)
worker = subprocess.Popen([*words, "worker", "1"], stdout=subprocess.DEVNULL)
code = subprocess.call([*words, "worker", "0"])
server.kill()
worker.kill()
sys.exit(code)
