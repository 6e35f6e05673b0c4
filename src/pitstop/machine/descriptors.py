"""Waits for file descriptors, whatever their numbers.

`select.select` takes none from 1,024 on, and whoever leads a thousand members has more.
"""

import math
import select
from collections.abc import Iterable


def readable(fds: Iterable[int], seconds: float = 0.0) -> list[int]:
    """Those that can be read by then, or whose other end is closed."""
    poll = select.poll()
    for fd in fds:
        poll.register(fd, select.POLLIN)
    return [fd for fd, _ in poll.poll(math.ceil(seconds * 1000))]
