"""Tells the flight recorder now and then what only the process that trains can see."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

from pitstop.link.messages import VitalsReport

_NEVER_NS = 1 << 62
_MOST_SHARE = 0.001
"""Of the training's time; where looking costs more, it is done less often."""


class Vitals:
    """Asked at every step boundary whether it is time; that is one comparison.

    The two times are those of the steps whose waiting for input is measured; None where none is.
    """

    def __init__(self, send: Callable[[VitalsReport], None], every_seconds: float) -> None:
        self.due_ns = 0 if every_seconds else _NEVER_NS
        self.input_seconds: float | None = None
        self.step_seconds: float | None = None
        self._send = send
        self._every_ns = int(every_seconds * 1e9)

    def tell(self, facts: Callable[[], Mapping[str, Any]]) -> None:
        """Tells it, with what the framework knows, and plans the next time by what it cost."""
        before_ns = time.thread_time_ns()
        self._send(
            VitalsReport(
                **facts(),
                python_blocks=sys.getallocatedblocks(),
                input_seconds=self.input_seconds,
                step_seconds=self.step_seconds,
            )
        )
        # Not the time on the clock: waiting for a processor is no cost of ours.
        cost_ns = time.thread_time_ns() - before_ns
        self.due_ns = time.monotonic_ns() + max(self._every_ns, int(cost_ns / _MOST_SHARE))

    def waited(self, share: float, step_seconds: float) -> None:
        """Steps waited for input for this share of the time that they took."""
        self.input_seconds = (self.input_seconds or 0.0) + share * step_seconds
        self.step_seconds = (self.step_seconds or 0.0) + step_seconds
