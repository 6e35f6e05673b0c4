"""The three descriptors that every program is given, and may not have been given."""

from __future__ import annotations

import os

_LAST_STANDARD = 2


def open_standard() -> None:
    """Opens nothing (/dev/null) where a standard descriptor is closed.

    The next file that this process opens would take its number, and be written to, or be
    handed to another program as its output.
    """
    while (fd := os.open(os.devnull, os.O_RDWR)) <= _LAST_STANDARD:
        os.set_inheritable(fd, True)
    os.close(fd)
