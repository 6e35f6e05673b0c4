"""How an instrumented process is asked what its threads do: a signal, and a file."""

from __future__ import annotations

import signal

ENV_STACKS = "PITSTOP_STACKS"
"""Environment variable: the file that stacks are appended to."""

STACKS_SIGNAL = signal.SIGRTMAX - 5
"""Real-time signals have no meaning of their own; debuggers take the first ones."""

STACKS_FILE = "stacks.txt"
"""Its name in the folder of an attempt."""
