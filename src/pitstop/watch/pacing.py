"""How often a part of a page is made again: as often as it is cheap."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from xml.etree.ElementTree import Element

from pitstop.report.page.element import serialize

EVERY_SECONDS = 1.0
COST_SHARE = 0.005
"""Of one processor, for all parts of a page together."""


@dataclass
class PagePart:
    """A part of a page, as it was made last; `version` counts its changes.

    `share` is its part of the processor time that the page may take.
    """

    id: str
    make: Callable[[], Element | None]
    share: float
    made: Element | None = None
    html: str = ""
    version: int = 0
    due_seconds: float = 0.0

    def refresh(self, now_seconds: float) -> None:
        """Makes it again if it is due."""
        if now_seconds < self.due_seconds:
            return
        before = time.thread_time()
        self.made = self.make()
        html = "" if self.made is None else serialize(self.made)
        cost = time.thread_time() - before
        # The first time everything is read, and later only what is new.
        lasting = cost if self.version else 0.0
        self.due_seconds = now_seconds + wait_seconds(lasting, self.share)
        if html != self.html:
            self.html = html
            self.version += 1


def wait_seconds(cost_seconds: float, share: float) -> float:
    """How long to wait after making something that took so much processor time.  Pure."""
    return max(EVERY_SECONDS, cost_seconds / (COST_SHARE * share))
